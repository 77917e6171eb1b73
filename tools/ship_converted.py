"""Converts every architecture of torchvision and timm, checks the counts, and packs the archive that ships.

Needs torch, torchvision and timm (see docs/conversion.md); nothing is downloaded. Two steps, so that the
first can be spread over processes and taken up again:

    python tools/ship_converted.py convert WORK_DIR [--shard K/N] [NAME ...]
    python tools/ship_converted.py pack WORK_DIR
"""

from __future__ import annotations

import argparse
import csv
import gc
import importlib
import json
import sys
import time
import warnings
import zipfile
from pathlib import Path
from typing import Any

from estimator.catalog.yaml_reader import read_document
from estimator.convert import vision
from estimator.convert.torch_trace import import_torch, quick
from estimator.convert.write import plain_network, yaml_text
from estimator.networks.language.read import read_network
from estimator.networks.lowering import lower
from estimator.networks.training import Training
from estimator.workload.kernel import Phase

ROOT = Path(__file__).resolve().parent.parent
ARCHIVE = ROOT / "profiles" / "networks" / "converted"
COLUMNS = (
    "name", "version", "parameters", "forward_flops", "image", "image_is_parameter", "layers", "lines",
    "custom_layers", "custom", "parameters_equal", "flops_equal", "fixed_size_because", "error",
)  # fmt: skip


def names() -> list[str]:
    """Return every architecture as ``package:name``."""
    return [f"torchvision:{n}" for n in vision.torchvision_names()] + [
        f"timm:{n}" for n in vision.timm_names() + vision.timm_names_for_inference()
    ]


def truth(module: Any, shapes: list[tuple[int, ...]]) -> tuple[int, int]:  # noqa: ANN401 - a torch module
    """Return torch's own parameters and forward FLOPs a sample, in training mode."""
    torch = import_torch()
    flop_counter = importlib.import_module("torch.utils.flop_counter")

    inputs = [torch.empty((1, *shape), device="meta") for shape in shapes]
    module.train().requires_grad_(False)  # noqa: FBT003 - its only argument
    with flop_counter.FlopCounterMode(display=False) as counter, torch.no_grad(), quick():
        module(*inputs)
    return sum(p.numel() for p in module.parameters()), counter.get_total_flops()


def convert_one(name: str, folder: Path) -> dict[str, Any]:
    """Convert and check one architecture; write its YAML."""
    package, short = name.split(":")
    row: dict[str, Any] = dict.fromkeys(COLUMNS, "") | {"name": name, "version": vision.version(package)}
    network = vision.from_timm(short) if package == "timm" else vision.from_torchvision(short)
    text = yaml_text(plain_network(network))
    read = read_network(read_document(text, f"{short}.yaml"))
    work = lower(read, Training(batch=1))
    flops = sum(k.flops for layer in work.layers for k in layer.kernels if k.phase is Phase.FORWARD)
    module, shapes = vision.module_of(name)
    true_parameters, true_flops = truth(module, shapes)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{short}.yaml").write_text(text)
    row |= {
        "parameters": work.parameters, "forward_flops": flops,
        "image": "x".join(str(s) for s in shapes[0]), "image_is_parameter": bool(network.params),
        "layers": len(network.entries), "lines": text.count("\n"), "custom_layers": len(network.gaps),
        "custom": " ".join(sorted({gap.function.split(" ")[0] for gap in network.gaps})),
        "parameters_equal": true_parameters == work.parameters, "flops_equal": true_flops == flops,
        "fixed_size_because": network.fixed_size[:200],
    }  # fmt: skip
    if true_parameters != work.parameters or true_flops != flops:
        row["error"] = f"torch counts {true_parameters} parameters, {true_flops} FLOPs"
    return row


def convert_all(work: Path, shard: tuple[int, int], only: list[str]) -> None:
    """Convert a share of all architectures; what is in the folder already is not made again."""
    warnings.filterwarnings("ignore")
    import_torch().set_num_threads(1)
    work.mkdir(parents=True, exist_ok=True)
    for name in only or names()[shard[0] :: shard[1]]:
        package, short = name.split(":")
        done = work / package / f"{short}.json"
        if done.exists() and not only:
            continue
        began = time.perf_counter()
        try:
            row = convert_one(name, work / package)
        except Exception as error:  # noqa: BLE001 - one failure must not stop the other thousand
            row = dict.fromkeys(COLUMNS, "") | {
                "name": name,
                "error": f"{type(error).__name__}: {error}"[:300],
            }
        done.parent.mkdir(parents=True, exist_ok=True)
        done.write_text(json.dumps(row))
        gc.collect()
        sys.stdout.write(f"{name} {time.perf_counter() - began:.1f} s {row['error']}\n")
        sys.stdout.flush()


def pack(work: Path, target: Path) -> None:
    """Write the archive and its index; the same texts give the same bytes."""
    rows = sorted((json.loads(p.read_text()) for p in work.glob("*/*.json")), key=lambda r: r["name"])
    target.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target / "networks.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for row in rows:
            package, short = row["name"].split(":")
            text = work / package / f"{short}.yaml"
            if text.exists():
                info = zipfile.ZipInfo(f"{package}/{short}.yaml", date_time=(2025, 1, 1, 0, 0, 0))
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, text.read_text())
    with (target / "index.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    with (target / "old_names.csv").open("w", newline="") as file:
        old = csv.writer(file, lineterminator="\n")
        old.writerow(("old_name", "name"))
        old.writerows((name, f"timm:{new}") for name, new in sorted(vision.timm_old_names().items()))
    failed = [row["name"] for row in rows if row["error"]]
    sys.stdout.write(f"{len(rows)} architectures, {len(failed)} with an error\n")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("convert", "pack"))
    parser.add_argument("work", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--shard", default="0/1")
    given = parser.parse_args()
    if given.step == "convert":
        part, parts = (int(n) for n in given.shard.split("/"))
        convert_all(given.work, (part, parts), given.names)
    else:
        pack(given.work, ARCHIVE)


if __name__ == "__main__":
    main()
