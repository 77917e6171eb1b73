"""What a probe runs in a process of its own: matrix products, memory streams or a chain of additions.

Run by path, so that nothing of this package is imported: ``python probe_worker.py '{"task": ...}'``; the
answer is JSON on standard output. A crash of machine code or of a math library ends this process only.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import platform
import struct
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

_CHAIN = 128
# Repetitions however slow the machine: one alone says nothing of noise.
_FEWEST = 3
_DOUBLE_BYTES = 8
# A product of this time is past the start-up of the threads; this size fits a gigabyte.
_LONG_ENOUGH_S, _LARGEST = 0.03, 8192
# A block of three arrays stays in the first caches between the two passes of the triad.
_BLOCK = 1 << 15


def chain_code(machine: str, *, windows: bool) -> bytes | None:
    """Return machine code for ``f(n)``: n rounds of a chain of `_CHAIN` dependent additions of a cycle each.

    A register-to-register integer add takes one cycle on every x86-64 and AArch64 core (Agner Fog's
    instruction tables; Arm's optimization guides), so the chain's time is its length over the clock.
    """
    if machine in {"x86_64", "AMD64"}:
        body = b"\x48\x01\xd0" * _CHAIN  # add rax, rdx
        body += b"\x48\xff\xc9" if windows else b"\x48\xff\xcf"  # dec rcx / dec rdi: the first argument
        jump = b"\x0f\x85" + struct.pack("<i", -(len(body) + 6))  # jnz to the start
        return body + jump + b"\xc3"
    if machine == "aarch64":
        words = [0x8B020021] * _CHAIN + [0xF1000400]  # add x1, x1, x2; subs x0, x0, 1
        words += [0x54000001 | (-len(words) & 0x7FFFF) << 5, 0xD65F03C0]  # b.ne to the start; ret
        return struct.pack(f"<{len(words)}I", *words)
    return None


def clocks(threads: int, budget_s: float) -> dict[str, Any]:
    """Return the clock in Hz seen by each repetition, one thread at a time and with all at once."""
    code = chain_code(platform.machine(), windows=sys.platform == "win32")
    if code is None:
        return {"error": f"no machine code for {platform.machine()}"}
    page = mmap.mmap(
        -1, max(len(code), mmap.PAGESIZE), prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    )
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    if platform.machine() == "aarch64":
        # New code must reach memory before the core fetches it.
        ctypes.CDLL("libgcc_s.so.1")["__clear_cache"](
            ctypes.c_void_p(address), ctypes.c_void_p(address + len(code))
        )
    function = ctypes.CFUNCTYPE(None, ctypes.c_uint64)(address)
    rounds = 20_000

    def repeat(until: float) -> list[float]:
        rates: list[float] = []
        while time.perf_counter() < until or not rates:
            start = time.perf_counter()
            function(rounds)
            rates.append(rounds * _CHAIN / (time.perf_counter() - start))
        return rates

    function(rounds)
    one = repeat(time.perf_counter() + budget_s / 2)
    end = time.perf_counter() + budget_s / 2
    with ThreadPoolExecutor(threads) as pool:
        every = list(pool.map(lambda _: max(repeat(end)), range(threads)))
    return {"one": one, "all": every}


def matrix_rates(dtype: str, budget_s: float) -> list[float]:
    """Return FLOP/s of square products through NumPy's BLAS, grown until one takes `_LONG_ENOUGH_S`."""
    import numpy as np

    size = 512
    rates: list[float] = []
    while True:
        left, right = (np.full((size, size), 0.5, dtype) for _ in range(2))
        out = np.empty((size, size), dtype)
        np.matmul(left, right, out=out)
        end = time.perf_counter() + budget_s
        took = 0.0
        while len(rates) < _FEWEST or time.perf_counter() + took < end:
            start = time.perf_counter()
            np.matmul(left, right, out=out)
            took = time.perf_counter() - start
            rates.append(2 * size**3 / took)
            if took < _LONG_ENOUGH_S and size < _LARGEST:
                break
        else:
            return rates
        # A product grows with the cube: straight to the size that takes as long as wanted.
        growth = (1.2 * _LONG_ENOUGH_S / took) ** (1 / 3)
        size = min(int(size * min(max(growth, 1.25), 3)) // 64 * 64 + 64, _LARGEST)
        rates.clear()


def streams(threads: int, array_bytes: int, budget_s: float) -> dict[str, list[float]]:
    """Return bytes/s of reading, copying and the triad ``a = b + s c``, the threads on slices of their own.

    Each pass touches two arrays' bytes in all: read as one, copied from one half to the other, or in thirds
    by the triad; bytes count as STREAM counts them, without the line a store reads first.
    """
    per_thread = max(2 * array_bytes // threads // _DOUBLE_BYTES // (6 * _BLOCK), 1) * 6 * _BLOCK
    ready = threading.Barrier(threads)

    def work(_: int) -> dict[str, list[tuple[float, float]]]:
        passes = _passes(_array(per_thread))
        spans: dict[str, list[tuple[float, float]]] = {}
        for name, run in passes.items():
            end = time.perf_counter() + budget_s / len(passes)
            spans[name] = []
            for repeat in range(64):
                ready.wait()
                start = time.perf_counter()
                run()
                spans[name].append((start, time.perf_counter()))
                # All leave together, or the barrier would wait for ever: the first thread's clock decides.
                if _agree(ready, repeat + 1 >= _FEWEST and time.perf_counter() > end):
                    break
        return spans

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(work, range(threads)))
    total = per_thread * _DOUBLE_BYTES * threads
    return {
        name: [
            total / (max(end for _, end in at) - min(start for start, _ in at))
            for at in zip(*(spans[name] for spans in found), strict=True)
        ]
        for name in found[0]
    }


_votes: list[bool] = []


def _agree(ready: threading.Barrier, wish: bool) -> bool:  # noqa: FBT001 - a vote
    """Return whether any thread wants to stop, the same answer in all."""
    _votes.append(wish)
    ready.wait()
    stop = any(_votes)
    if ready.wait() == 0:
        _votes.clear()
    ready.wait()
    return stop


def _array(elements: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a touched array on large pages where the system has them: faults cost more than the probe."""
    import numpy as np

    memory = mmap.mmap(-1, elements * _DOUBLE_BYTES)
    advice = getattr(mmap, "MADV_HUGEPAGE", None)
    if advice is not None:
        try:
            memory.madvise(advice)
        except OSError:
            advice = None
    array = np.frombuffer(memory, np.float64)
    array.fill(1.0)
    return array


def _passes(memory: Any) -> dict[str, Callable[[], None]]:  # noqa: ANN401 - an array; NumPy is imported late
    import numpy as np

    half, third = len(memory) // 2, len(memory) // 3
    words = memory.view(np.float32)
    blocks = [
        tuple(memory[part * third + start : part * third + start + _BLOCK] for part in range(3))
        for start in range(0, third, _BLOCK)
    ]

    def triad() -> None:
        for out, x, y in blocks:
            np.multiply(y, 3.0, out=out)
            np.add(out, x, out=out)

    return {
        "read": lambda: _discard(np.maximum.reduce(words)),
        "copy": lambda: np.copyto(memory[:half], memory[half:]),
        "triad": triad,
    }


def _discard(_value: object) -> None:
    """Drop a result."""


def main(order: dict[str, Any]) -> dict[str, Any]:
    """Run one task and return its answer."""
    threads, budget_s = int(order["threads"]), float(order["budget_s"])
    if order["task"] == "clock":
        return clocks(threads, budget_s)
    answer: dict[str, Any] = {
        "matrix": {name: matrix_rates(name, budget_s / 4) for name in ("float32", "float64")}
    }
    answer["stream"] = streams(threads, int(order["array_bytes"]), budget_s / 4)
    return answer


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(json.loads(sys.argv[1]))))
