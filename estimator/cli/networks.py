"""``estimator networks``: which networks are known, and what a file describes."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from estimator.cli import options as o
from estimator.cli.guard import guarded

app = typer.Typer(no_args_is_help=True, help="List the zoo, show a network's YAML, check a file of your own.")


@app.command("list")
@guarded
def list_(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WORD]", help="only networks with this in name or family, timm's and torchvision's too"
        ),
    ] = None,
    family: Annotated[str | None, typer.Option("--family", help="only this family, e.g. resnet")] = None,
    format_name: o.FormatName = None,
    output: o.Output = None,
) -> None:
    """List the networks of the zoo with their parameters and FLOPs, or find any that can be named.

    estimator networks list nfnet
    """
    from estimator.app.networks import list_networks
    from estimator.cli.output import emit
    from estimator.report.screens.networks import list_screen

    result = list_networks(family, " ".join(words) if words else None)
    emit(result, lambda: list_screen(result), format_name=format_name, output=output)


@app.command("show")
@guarded
def show(network: o.Network) -> None:
    """Print a network's YAML, to read or to start your own from.

    estimator networks show gpt2 > mine.yaml
    """
    from estimator.catalog.networks import find_network
    from estimator.cli.output import write

    write(sys.stdout, find_network(network).text)


@app.command("check")
@guarded
def check(
    network: o.Network,
    set_: o.Set = None,
    format_name: o.FormatName = None,
    output: o.Output = None,
) -> None:
    """Check a file: every error with its place, or what was understood.

    estimator networks check mine.yaml
    """
    from estimator.app.networks import check_network
    from estimator.app.source import open_network
    from estimator.cli.output import emit
    from estimator.report.screens.networks import check_screen

    described = open_network(network, tuple(set_ or ()), sys.stdin.buffer)
    result = check_network(described.network)
    emit(result, lambda: check_screen(result, asked=network), format_name=format_name, output=output)


@app.command("schema")
@guarded
def schema() -> None:
    """Print the JSON Schema of network files, for editors that complete and check YAML.

    estimator networks schema > network.schema.json
    """
    import json

    from estimator.cli.output import write
    from estimator.networks.language.schema import network_schema

    write(sys.stdout, json.dumps(network_schema(), indent=2) + "\n")
