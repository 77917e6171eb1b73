"""The compact form of a recorded machine: a layout that writes cpuinfo, sysfs and Windows' bytes."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from estimator.detect.cpulist import parse_cpu_list, write_cpu_list
from estimator.detect.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Cpus:
    """The short form of a machine's CPUs: a layout that writes cpuinfo and sysfs files."""

    def __init__(self, short: Mapping[str, Any]) -> None:
        self.short = short
        self.packages: int = short.get("packages", 1)
        self.cores: int = short.get("cores", 1)
        self.smt: int = short.get("smt", 1)
        self.pairs: int = short.get("pairs", 0)
        self.total = self.packages * self.cores * self.smt + self.pairs
        self.online = sorted(parse_cpu_list(str(short.get("online", f"0-{self.total - 1}"))) or ())

    def place(self, cpu: int) -> tuple[int, int, int]:
        """Return (package, core, thread) of a CPU number; the first ``pairs`` cores have two threads."""
        if self.pairs:
            paired = cpu < 2 * self.pairs
            return (0, cpu // 2, cpu % 2) if paired else (0, cpu - self.pairs, 0)
        if self.short.get("numbering") == "adjacent":
            core, thread = divmod(cpu, self.smt)
        else:
            thread, core = divmod(cpu, self.packages * self.cores)
        package, core = divmod(core, self.cores)
        ids = self.short.get("core_ids")
        return package, ids[core] if ids else core, thread

    def sharing(self, cpu: int, scope: str) -> frozenset[int]:
        """Return the CPUs that share something with one: a core, or a package."""
        width = 2 if scope == "core" else 1
        return frozenset(n for n in self.online if self.place(n)[:width] == self.place(cpu)[:width])

    def record(self, cpu: int) -> dict[str, Any]:
        """Return the cpuinfo keys of a CPU."""
        package, core, _ = self.place(cpu)
        record: dict[str, Any] = {"processor": cpu, **self.short.get("cpuinfo", {})}
        if self.short.get("ids_in_cpuinfo", True):
            record |= {"physical id": package, "core id": core, "cpu cores": self.cores,
                       "siblings": self.cores * self.smt + self.pairs}  # fmt: skip
        for part in self.short.get("parts", ()):
            if cpu in (parse_cpu_list(str(part["cpus"])) or ()):
                record |= part["cpuinfo"]
        return record

    def files(self) -> Iterator[tuple[str, str]]:
        """Yield path and text of every file."""
        records = [self.record(cpu) for cpu in self.online]
        texts = ["".join(f"{key}\t: {value}\n" for key, value in record.items()) for record in records]
        yield "/proc/cpuinfo", "\n".join(texts) + str(self.short.get("cpuinfo_end", ""))
        if not self.short.get("sysfs", True):
            return
        yield "/sys/devices/system/cpu/online", write_cpu_list(frozenset(self.online)) + "\n"
        for cpu in self.online:
            base = f"/sys/devices/system/cpu/cpu{cpu}"
            package, core, _ = self.place(cpu)
            yield f"{base}/topology/core_id", f"{core}\n"
            yield f"{base}/topology/physical_package_id", f"{package}\n"
            for span, khz in self.short.get("max_khz", {}).items():
                if cpu in (parse_cpu_list(str(span)) or ()):
                    yield f"{base}/cpufreq/cpuinfo_max_freq", f"{khz}\n"
            for index, (level, kind, size, scope) in enumerate(self.short.get("caches", ())):
                shared = write_cpu_list(self.sharing(cpu, scope))
                for name, text in (
                    ("level", level),
                    ("type", kind),
                    ("size", size),
                    ("shared_cpu_list", shared),
                ):
                    yield f"{base}/cache/index{index}/{name}", f"{text}\n"
        for node in range(self.short.get("nodes", 0)):
            share = len(self.online) // self.short["nodes"]
            cpus = frozenset(self.online[node * share : (node + 1) * share])
            yield f"/sys/devices/system/node/node{node}/cpulist", write_cpu_list(cpus) + "\n"


def processor_information(layout: Mapping[str, int]) -> str:
    """Return GetLogicalProcessorInformationEx's bytes in hex; ``small`` cores have one thread."""
    groups, smt, cores, small = layout["groups"], layout["smt"], layout["cores"], layout.get("small", 0)
    records = []
    masks: dict[int, int] = {}
    for core in range(cores + small):
        group, place = divmod(core, (cores + small) // groups)
        width = smt if core < cores else 1
        first = place * smt if core < cores else cores * smt + core - cores
        mask = ((1 << width) - 1) << first
        masks[group] = masks.get(group, 0) | mask
        hybrid_class = 1 if small and core < cores else 0
        body = struct.pack("<BB20xHQH6x", int(width > 1), hybrid_class, 1, mask, group)
        records.append(struct.pack("<II", 0, 8 + len(body)) + body)
    for group, mask in masks.items():
        cache = struct.pack("<BBHII18xHQH6x", 3, 11, 64, 36700160, 0, 1, mask, group)
        node = struct.pack("<I18xHQH6x", group, 1, mask, group)
        for relation, body in ((2, cache), (1, node)):
            records.append(struct.pack("<II", relation, 8 + len(body)) + body)
    for _ in range(layout["packages"]):
        body = struct.pack("<BB20xHQH6x", 0, 0, 1, masks[0], 0)
        records.append(struct.pack("<II", 3, 8 + len(body)) + body)
    return b"".join(records).hex()


def expand(machine: Mapping[str, Any]) -> Recording:
    """Return the recording of a machine's compact form."""
    files: dict[str, str] = {}
    if "cpus" in machine:
        files.update(Cpus(machine["cpus"]).files())
    windows = machine.get("windows")
    if windows and "layout" in windows:
        windows = {**windows, "processor_information": processor_information(windows["layout"])}
    files.update({path: str(text) for path, text in (machine.get("files") or {}).items()})
    return Recording(
        system=machine.get("system", "linux"),
        files={path: text for path, text in files.items() if path not in (machine.get("without") or ())},
        listings=machine.get("listings") or {},
        environ={name: str(value) for name, value in (machine.get("environ") or {}).items()},
        commands=machine.get("commands") or {},
        nvml=machine.get("nvml"),
        windows=windows,
    )
