"""``estimator scale``: whether more devices help."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from estimator.cli import options as o
from estimator.cli.guard import guarded
from estimator.cli.recipe import RecipeFlags, takes_recipe

Device = Annotated[
    str | None,
    typer.Option(
        "--device", "-d", envvar="ESTIMATOR_DEVICE", help="one device; default: the first of this machine"
    ),
]
Counts = Annotated[
    str,
    typer.Option(
        "--devices",
        "-n",
        envvar="ESTIMATOR_DEVICES",
        metavar="LIST",
        help="numbers of devices: 1,2,4,8 or 1..64*2",
    ),
]
Links = Annotated[
    str | None,
    typer.Option(
        "--link",
        envvar="ESTIMATOR_LINK",
        metavar="LIST",
        help="what joins the devices of a node: pcie4,nvlink4-nvswitch, …",
    ),
]
PerNode = Annotated[
    int | None,
    typer.Option("--per-node", envvar="ESTIMATOR_PER_NODE", min=1, max=1024, help="devices a node holds"),
]
Between = Annotated[
    str | None,
    typer.Option("--between", envvar="ESTIMATOR_BETWEEN", help="what joins nodes: ethernet-100g, …"),
]
Weak = Annotated[
    bool,
    typer.Option("--weak", envvar="ESTIMATOR_WEAK", help="only weak scaling: each device keeps its batch"),
]
Strong = Annotated[
    bool,
    typer.Option("--strong", envvar="ESTIMATOR_STRONG", help="only strong scaling: the global batch stays"),
]


@takes_recipe
@guarded
def scale(
    recipe: RecipeFlags,
    device: Device = None,
    devices: Counts = "1,2,4,8",
    link: Links = None,
    per_node: PerNode = None,
    between: Between = None,
    weak: Weak = False,
    strong: Strong = False,
    root: o.Root = None,
    format_name: o.FormatName = None,
    output: o.Output = None,
) -> None:
    """Show what more devices gain: speed-up, efficiency and the exchange that stays visible.

    estimator scale bert_base --device A100-SXM-40GB --devices 1..64*2 --between infiniband-hdr
    """
    from estimator.app.axes import parse_axis
    from estimator.app.scale import STRONG, WEAK, Ladder
    from estimator.app.scale import scale as scaled
    from estimator.app.source import open_network
    from estimator.cli.machines import ground_here, machines
    from estimator.cli.output import emit
    from estimator.report.screens.scale import scale_screen

    counts = parse_axis("--devices", devices, numbers=True).values
    links = parse_axis("--link", link).values if link is not None else (None,)
    kinds = tuple(kind for kind, asked in ((WEAK, weak), (STRONG, strong)) if asked) or (WEAK, STRONG)
    ladder = Ladder(
        counts=tuple(map(int, counts)),
        links=tuple(None if name is None else str(name) for name in links),
        per_node=per_node,
        between=between,
        kinds=kinds,
    )
    request = recipe.request()
    (chosen,) = machines(request, [device] if device else [], root, first=True).values()
    described = open_network(request.network, request.overrides, sys.stdin.buffer)
    result = scaled(described, request, ground_here(root)(chosen.system.device), ladder)
    emit(result, lambda: scale_screen(result), format_name=format_name, output=output)
