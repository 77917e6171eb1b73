"""Compares the shipped conversions with a table of golden counts, and says how the archive was made.

    python tools/check_conversion.py GOLDEN.csv      columns: model, input, params, fwd_flops_b1

Nothing but the archive and the table is read. The last result stands in docs/conversion.md.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections import Counter
from pathlib import Path

from estimator.catalog.converted import converted_index, converted_text, find_converted
from estimator.catalog.yaml_reader import read_document
from estimator.networks.language.read import read_network
from estimator.networks.lowering import lower
from estimator.networks.training import Training

_SIZE = re.compile(r"_\d+(x\d+)?$")


def archive_name(model: str, family: str) -> str | None:
    """Return the archive's name of a row of the table, or None."""
    if model.startswith("timm_"):
        return find_converted(f"timm:{model.removeprefix('timm_')}")
    if not family.startswith("torchvision"):
        return None
    for short in (model, _SIZE.sub("", model), model.removesuffix("_backbone_head")):
        if found := find_converted(f"torchvision:{short}"):
            return found
    return None


def counts(name: str, sizes: list[int]) -> tuple[int, int] | str:
    """Return parameters and forward FLOPs of one sample (without auxiliary heads), or why there are none."""
    text = converted_text(name)
    document = read_document(text, name)
    usual = read_network(document).inputs[0].shape
    overrides = {}
    if tuple(sizes) != usual:
        if "image" not in read_network(document).parameters or sizes[-1] != sizes[-2]:
            return f"the input is {list(usual)} in the archive"
        overrides = {"image": sizes[-1]}
    network = read_network(document, overrides=overrides)
    return lower(network, Training(batch=1)).parameters, lower(
        network, Training(batch=1, training=False)
    ).forward_flops


def main() -> None:
    """Compare row by row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("golden", type=Path)
    given = parser.parse_args()
    equal, different, absent = [], [], []
    with given.golden.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            name = archive_name(row["model"], row["family"])
            if name is None:
                continue
            sizes = [int(n) for n in re.findall(r"\d+", row["input"])]
            found = counts(name, sizes)
            if isinstance(found, str):
                absent.append(f"{row['model']}: {found}")
            elif found == (int(row["params"]), int(row["fwd_flops_b1"])):
                equal.append(row["model"])
            else:
                different.append(f"{row['model']}: {found}, golden {row['params']}, {row['fwd_flops_b1']}")
    sys.stdout.write(f"equal {len(equal)}, different {len(different)}, not compared {len(absent)}\n")
    sys.stdout.writelines(f"  {line}\n" for line in (*different, *absent))
    index = converted_index()
    made = [row for row in index if row["parameters"]]
    states = Counter((row["parameters_equal"], row["flops_equal"]) for row in made)
    sys.stdout.write(
        f"archive: {len(index)} architectures, {len(made)} converted, "
        f"{states['True', 'True']} with parameters and forward FLOPs equal to PyTorch's own, "
        f"{sum(row['image_is_parameter'] == 'True' for row in made)} with the image size as a parameter, "
        f"{sum(row['custom_layers'] not in ('', '0') for row in made)} with Custom layers\n"
    )


if __name__ == "__main__":
    main()
