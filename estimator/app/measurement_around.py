"""The use cases of measuring what surrounds a step: the input pipeline, and the link between processes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from estimator.catalog.catalogue import forget_catalogue
from estimator.catalog.interconnects import load_interconnect
from estimator.catalog.store import user_root
from estimator.errors import InputError
from estimator.measure.collectives import measure_link
from estimator.measure.images import find_images, make_images
from estimator.measure.loader import measure_loader, worker_counts
from estimator.results.probing import CollectivePoint, CollectivesResult, LoaderRate, LoaderResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from estimator.measure.collectives import LinkMeasurement
    from estimator.measure.loader import LoaderMeasurement

_SYNTHETIC, _SYNTHETIC_SIZE = 64, (375, 500)  # photographs of ImageNet are about so large
_NAME = "measured-link"
_SHARE_THAT_MATTERS = 1.1  # a loader this much faster than the network still hides behind it


def loader_probe(
    data: Path | None,
    size: tuple[int, int],
    budget_s: float,
    cpus: float,
    *,
    consumed: tuple[float, str] | None,
    inputs: Mapping[str, object],
    progress: Callable[[str], None] | None = None,
) -> LoaderResult:
    """Measure a folder's images, or some made for the purpose, and say who waits for whom.

    ``consumed`` is what the network takes, images a second, and what that rests on.
    """
    counts = worker_counts(cpus)
    if data is not None:
        found = measure_loader(
            find_images(data), size, budget_s, own=False, workers=counts, progress=progress
        )
    else:
        with tempfile.TemporaryDirectory() as folder:
            paths = make_images(Path(folder), _SYNTHETIC, _SYNTHETIC_SIZE)
            found = measure_loader(paths, size, budget_s, own=True, workers=counts, progress=progress)
    rate, basis = consumed or (None, None)
    return LoaderResult(
        inputs=dict(inputs),
        rates=tuple(LoaderRate(workers=count, images_per_s=value) for count, value in found.rates),
        read_bytes_per_s=found.read_bytes_per_s,
        image_bytes=found.image_bytes,
        decode_images_per_s=dict(found.rates)[0] if found.decoded else None,
        consumed_images_per_s=rate,
        consumed_basis=basis,
        bottleneck=None if rate is None else _bottleneck(found, rate),
        explanation=_explanation(found, rate),
        warnings=_loader_warnings(found),
    )


def _bottleneck(found: LoaderMeasurement, rate: float) -> str:
    return "network" if _best(found) >= rate else "loader"


def _best(found: LoaderMeasurement) -> float:
    return max(value for _, value in found.rates)


def _explanation(found: LoaderMeasurement, rate: float | None) -> tuple[str, ...]:
    workers, best = max(found.rates, key=lambda pair: pair[1])
    said = [f"{workers} workers deliver most: {best:,.0f} images/s; more only take turns"]
    reading = found.read_bytes_per_s / found.image_bytes
    if found.decoded and reading > 2 * best:
        said.append(f"reading alone would give {reading:,.0f} images/s: decoding and resizing is the work")
    elif found.decoded:
        said.append(f"reading alone gives {reading:,.0f} images/s: the disk or its file system is the limit")
    if rate is None:
        return tuple(said)
    enough = [count for count, value in found.rates if value >= rate * _SHARE_THAT_MATTERS]
    if enough:
        said.append(f"{min(enough)} workers are enough for the network's {rate:,.0f} images/s")
    elif best >= rate:
        said.append(f"the loader is hardly faster than the network's {rate:,.0f} images/s: steps will wait")
    else:
        said.append(
            f"the network takes {rate:,.0f} images/s: it waits {100 * (1 - best / rate):.0f} % of the time; "
            "store images smaller, decode on the GPU, or give the loader more CPUs"
        )
    return tuple(said)


def _loader_warnings(found: LoaderMeasurement) -> tuple[str, ...]:
    said = ["files that were read before lie in memory: the first epoch from a disk can be slower"]
    if not found.decoded:
        said.append("images were read, not decoded: install Pillow to measure decoding too")
    return tuple(said)


def collectives_probe(
    device: str, name: str | None, *, date: str, progress: Callable[[str], None] | None = None
) -> CollectivesResult | None:
    """Measure all-reduces between the group's processes and keep the link; None in all but the first."""
    found = measure_link(device, progress)
    if found is None:
        return None
    chosen = name or _NAME
    path = save_link(found, chosen, date)
    return CollectivesResult(
        inputs={"device": device},
        name=chosen,
        processes=found.processes,
        hosts=found.hosts,
        backend=found.backend,
        alpha_s=found.alpha_s,
        bus_bytes_per_s=found.bus_bytes_per_s,
        points=tuple(
            CollectivePoint(bytes=size, seconds=seconds, fitted_s=found.fitted_s(size))
            for size, seconds in zip(found.sizes, found.seconds, strict=True)
        ),
        saved_as=str(path),
    )


def save_link(found: LinkMeasurement, name: str, date: str) -> Path:
    """Write the link as a profile of the user's own, which predict --link and scale then know."""
    if not name or not all(c.isalnum() or c in "-._" for c in name) or name != name.lower():
        raise InputError(f"--name: {name!r} cannot name a link", hint="use small letters, digits and hyphens")
    scope = "within" if found.hosts == 1 else "between"
    text = (
        "format: 1\n"
        f"id: {name}\n"
        f"name: '{name}, measured with {found.processes} processes over {found.backend}'\n"
        f"scope: {scope}\n"
        f"alpha_us: {found.alpha_s * 1e6:.4g}\n"
        "alpha_per_device_us: 0\n"
        f"bus_gb_per_s: {found.bus_bytes_per_s / 1e9:.4g}\n"
        "ramp: 0\n"
        "sources:\n"
        f"  default: {{source: all-reduces measured on this machine on {date}, basis: measured here}}\n"
    )
    folder = user_root() / "interconnects"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.yaml"
    temporary = path.with_suffix(".part")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
    forget_catalogue()
    load_interconnect(name)  # what was written must be what is read
    return path
