"""The command line's root: which commands there are; each is imported when it is asked for."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import Annotated

import typer

from estimator import __version__

# A command is a function of its name in a module of its name, or that module's ``app`` of subcommands.
# The first lines of their help stand here too, so that the root's help need not import them all.
_NAMED = """\
detect     Show this machine's CPU and GPUs: cores, lanes, clocks, caches, memory, dense peaks by precision.
doctor     Write what was read of this machine, without names, serial numbers and UUIDs.
layers     Show the work of a network, layer by layer: shapes, parameters, FLOPs, bytes, saved activations.
predict    Predict the time of a training step, an epoch and a run, with a range and its reasons.
compare    Compare devices for one network: times, speed-ups, memory fit, and the sentence that says why.
plan       Plan a training: what to buy or rent under a budget or deadline, and when buying pays off.
sweep      Sweep settings and show what helps: throughput, memory, the knee and the memory wall.
scale      Show what more devices gain: speed-up, efficiency and the exchange that stays visible.
memory     Show what a training step holds in memory, the largest batch, and what remedies cost in time.
measure    Run a real training step here and show it beside its prediction, by phase and by layer.
explain    Say whether a time you measured is normal and, if not, what could explain it and how to check.
calibrate  Measure small networks on this machine and keep what they say for later predictions.
convert    Turn a network you have into YAML; nothing is downloaded and no weights are made.
evaluate   Score the predictions against measurements: errors per group, ranges that held, order of devices.
report     Write a report to show: times, plots, layers, memory, ranges, assumptions, sources, in one page.
plot       Draw a roofline, time by layer or device, throughput by batch, cost, predicted against measured.
devices    List and show the devices of the catalogue, with their sources.
networks   List the zoo, show a network's YAML, check a file of your own.
cluster    Detect or measure on many hosts, and merge the results.
prices     List, show, add, check and export dated prices, energy and carbon figures.
"""
COMMANDS = dict(line.split(maxsplit=1) for line in _NAMED.splitlines())

# Objects made between two searches for unreachable cycles. A command makes many that live until it ends and
# next to no cycles: searching as often as Python does by default is a tenth of a long comparison.
COLLECT_AFTER = 200_000


def program(wanted: str | None = None) -> typer.Typer:
    """Return the program with all its commands, or with the one wanted beside the names of the others."""
    app = typer.Typer(
        name="estimator",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="How long will this neural network take to train on that hardware, and why?",
    )
    app.callback()(_root)
    for name, text in COMMANDS.items():
        if wanted in {None, name}:
            _add(app, name)
        else:
            app.command(name, help=text)(_named_only)
    return app


def _add(app: typer.Typer, name: str) -> None:
    module = import_module(f"estimator.cli.{name}")
    if hasattr(module, "app"):
        app.add_typer(module.app, name=name)
    else:
        app.command(name)(getattr(module, name))


def _named_only() -> None:
    """Stand for a command that was not asked for, in help and in suggestions."""


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"estimator {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="show the version")
    ] = False,
) -> None:
    """Predict how long a neural network takes to train on given hardware, and say why."""
    del version


def run() -> None:
    """Run the program."""
    gc.set_threshold(COLLECT_AFTER)
    completing = "_ESTIMATOR_COMPLETE" in os.environ
    first = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    program(None if completing else first)()
