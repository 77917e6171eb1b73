"""``estimator plan``: what to buy or rent for a training."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from estimator.cli import options as o
from estimator.cli.guard import guarded
from estimator.cli.recipe import RecipeFlags, takes_recipe
from estimator.errors import ConditionFailedError, InputError

if TYPE_CHECKING:
    from estimator.app.here import Grounds
    from estimator.app.plan_ask import Job

_WAYS = ("buy", "rent", "own")
Networks = Annotated[
    list[str],
    typer.Argument(metavar="NET...", help="networks; resnet50=3 counts three runs of it as part of one plan"),
]
Budget = Annotated[
    str | None,
    typer.Option("--budget", envvar="ESTIMATOR_BUDGET", help="to buy the devices or to rent for all trials"),
]
Deadline = Annotated[
    str | None,
    typer.Option("--deadline", envvar="ESTIMATOR_DEADLINE", help="for all trials, e.g. 12h or 3 days"),
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        "--max-memory",
        envvar="ESTIMATOR_MAX_MEMORY",
        help="a step may hold a device, e.g. 16GiB; a bare number is GiB",
    ),
]
PowerCap = Annotated[
    str | None,
    typer.Option("--power-cap", envvar="ESTIMATOR_POWER_CAP", help="at the wall, e.g. 1500W"),
]
Region = Annotated[
    str | None,
    typer.Option("--region", envvar="ESTIMATOR_REGION", help="for electricity and carbon: DEU, USA-CA, …"),
]
Electricity = Annotated[
    str | None,
    typer.Option(
        "--electricity-price", envvar="ESTIMATOR_ELECTRICITY_PRICE", help="a kWh, e.g. 0.31 or 0.31EUR"
    ),
]
Cooling = Annotated[
    float | None,
    typer.Option("--cooling", min=1, max=5, envvar="ESTIMATOR_COOLING", help="total over IT power (PUE)"),
]
HostPrice = Annotated[
    str | None,
    typer.Option("--host-price", envvar="ESTIMATOR_HOST_PRICE", help="of the machine around 8 GPUs or a CPU"),
]
Hours = Annotated[
    float | None,
    typer.Option(
        "--hours-per-month", min=0.1, max=744, envvar="ESTIMATOR_HOURS_PER_MONTH",
        help="hours a bought machine trains a month",
    ),
]  # fmt: skip
Months = Annotated[
    float | None,
    typer.Option("--months", min=0.1, max=240, envvar="ESTIMATOR_MONTHS", help="until it is written off"),
]
Count = Annotated[
    int | None,
    typer.Option("--trials", envvar="ESTIMATOR_TRIALS", min=1, max=1_000_000, help="runs of the experiment"),
]
Parallel = Annotated[
    bool, typer.Option("--parallel", envvar="ESTIMATOR_PARALLEL", help="trials side by side, one a device")
]
Counts = Annotated[
    str,
    typer.Option("--devices", "-n", envvar="ESTIMATOR_DEVICES", metavar="LIST", help="numbers of devices"),
]
Devices = Annotated[
    list[str] | None,
    typer.Option("--device", "-d", envvar="ESTIMATOR_CANDIDATES", help="only this device; may be repeated"),
]
Ways = Annotated[str, typer.Option("--ways", envvar="ESTIMATOR_WAYS", metavar="LIST", help="buy,rent,own")]
Owned = Annotated[
    list[str] | None,
    typer.Option(
        "--owned",
        envvar="ESTIMATOR_OWNED",
        help='what you have: "2x RTX 3090"; default: this machine\'s devices',
    ),
]
Spot = Annotated[
    bool,
    typer.Option("--spot", envvar="ESTIMATOR_SPOT", help="rent at spot prices, which may be interrupted"),
]
Since = Annotated[
    int | None,
    typer.Option(
        "--since",
        envvar="ESTIMATOR_SINCE",
        min=1980,
        max=2100,
        help="first year of release; default: 10 years ago",
    ),
]
PriceYears = Annotated[
    float,
    typer.Option(
        "--price-years",
        envvar="ESTIMATOR_PRICE_YEARS",
        min=0.1,
        max=50,
        help="prices older than this are left out",
    ),
]
Currency = Annotated[
    str, typer.Option("--currency", envvar="ESTIMATOR_CURRENCY", help="of the plan; others need a dated rate")
]
Files = Annotated[
    list[Path] | None,
    typer.Option("--prices", envvar="ESTIMATOR_PRICE_FILES", help="a price file that goes before others"),
]
Prices = Annotated[
    list[str] | None,
    typer.Option("--price", envvar="ESTIMATOR_PRICE", metavar="DEVICE=MONEY", help="of one board"),
]
Rates = Annotated[
    list[str] | None,
    typer.Option(
        "--rate", envvar="ESTIMATOR_RATE", metavar="EUR:USD=1.08@DAY", help="an exchange rate and its day"
    ),
]
Rows = Annotated[
    int, typer.Option("--rows", envvar="ESTIMATOR_ROWS", min=0, help="most rows of the table; 0 for all")
]


@takes_recipe
@guarded
def plan(
    recipe: RecipeFlags,
    network: Networks,
    budget: Budget = None,
    deadline: Deadline = None,
    max_memory: MaxMemory = None,
    power_cap: PowerCap = None,
    region: Region = None,
    electricity_price: Electricity = None,
    cooling: Cooling = None,
    host_price: HostPrice = None,
    hours_per_month: Hours = None,
    months: Months = None,
    trials: Count = None,
    parallel: Parallel = False,
    devices: Counts = "1,2,4,8",
    device: Devices = None,
    ways: Ways = "buy,rent,own",
    owned: Owned = None,
    spot: Spot = False,
    since: Since = None,
    price_years: PriceYears = 5.0,
    currency: Currency = "USD",
    files: Files = None,
    price: Prices = None,
    rate: Rates = None,
    rows: Rows = 16,
    root: o.Root = None,
    format_name: o.FormatName = None,
    output: o.Output = None,
) -> None:
    """Plan a training: what to buy or rent under a budget or deadline, and when buying pays off.

    estimator plan resnet50 --epochs 90 --precision amp --budget 5000 --region DEU
    """
    from estimator.app.axes import parse_axis
    from estimator.app.plan import plan as planned
    from estimator.app.plan_ask import Ask
    from estimator.app.plan_reading import currency_of, money, price_row, rate_row, watts
    from estimator.catalog.calibration import load_calibration
    from estimator.catalog.prices import load_prices
    from estimator.cli.output import emit
    from estimator.cli.prices import today
    from estimator.planning.choice import Constraints
    from estimator.planning.trials import Trials
    from estimator.report.screens.plan import plan_screen
    from estimator.units import parse_bytes, parse_seconds

    now, currency = today(), currency_of(currency)
    given = [price_row(text, currency, now) for text in price or ()]
    book = load_prices([*given, *(rate_row(text, now) for text in rate or ())], files or ())
    _check(parallel=parallel, trials=trials, recipe=recipe, owned=owned, ways=ways)

    def amount(text: str | None, flag: str) -> float | None:
        return None if text is None else money(text, flag, currency, book)

    jobs = _jobs(recipe, network)
    if deadline is not None:
        _need_length(jobs)
    here = _owned(owned, root) if "own" in ways.split(",") else []
    ask = Ask(
        jobs=jobs,
        today=now,
        constraints=Constraints(
            budget=amount(budget, "--budget"),
            deadline_s=None if deadline is None else parse_seconds(deadline),
            max_memory_bytes=None if max_memory is None else parse_bytes(max_memory, bare="gib"),
            power_cap_w=None if power_cap is None else watts(power_cap),
        ),
        currency=currency,
        region=region,
        price_per_kwh=amount(electricity_price, "--electricity-price"),
        cooling=cooling,
        host_price=amount(host_price, "--host-price"),
        hours_per_month=hours_per_month,
        months=months,
        trials=Trials(count=trials or 1, parallel=parallel),
        counts=tuple(int(n) for n in parse_axis("--devices", devices, numbers=True).values),
        link=recipe.link,
        devices=_ids(device),
        ways=frozenset(ways.split(",")),
        spot=spot,
        since=since,
        price_years=price_years,
        here=[(name, grounds.device, count) for name, grounds, count in here],
        measured=[grounds for _, grounds, _ in here if grounds.measured_here],
    )
    result = planned(ask, book, load_calibration())
    emit(result, lambda: plan_screen(result, most=rows or None), format_name=format_name, output=output)
    if result.recommendation is None and result.nearest_miss is None:
        raise ConditionFailedError(
            "there is nothing to choose from", hint="a price may be named: --price 'RTX 4090=1750'"
        )
    if result.recommendation is None:
        raise ConditionFailedError(
            "nothing meets the constraints", hint="the nearest miss is in the answer; ease one of them"
        )


def _check(
    *, parallel: bool, trials: int | None, recipe: RecipeFlags, owned: list[str] | None, ways: str
) -> None:
    """Refuse flags that contradict each other."""
    from estimator.errors import suggestion

    if parallel and (trials or 1) == 1:
        raise InputError("--parallel: one run has nothing to run beside", hint="say how many with --trials")
    if recipe.steps is not None and recipe.epochs is not None:
        raise InputError("--steps and --epochs both say how long a run is", hint="give one of them")
    for way in ways.split(","):
        if way not in _WAYS:
            hint = suggestion(way, _WAYS) or f"choose from {', '.join(_WAYS)}"
            raise InputError(f"--ways: unknown way {way!r}", hint=hint)
    if owned and "own" not in ways.split(","):
        raise InputError("--owned names a machine that --ways leaves out", hint="add own to --ways")


def _jobs(recipe: RecipeFlags, networks: list[str]) -> tuple[Job, ...]:
    from estimator.app.plan_ask import Job
    from estimator.app.plan_reading import weighted
    from estimator.app.source import open_network

    jobs = []
    for text in networks:
        name, weight = weighted(text)
        request = replace(recipe, network=name).request()
        described = open_network(name, request.overrides, sys.stdin.buffer)
        jobs.append(Job(request=request, described=described, weight=weight))
    return tuple(jobs)


def _need_length(jobs: tuple[Job, ...]) -> None:
    from estimator.app.plan import has_length
    from estimator.app.request import training_of

    for job in jobs:
        if not has_length(training_of(job.request, job.described.training)):
            raise InputError(
                f"--deadline: the length of a run of {job.described.network.name} is not known",
                hint="give --steps, or --samples and --epochs",
            )


def _ids(names: list[str] | None) -> frozenset[str] | None:
    from estimator.catalog.lookup import resolve_device

    return None if not names else frozenset(resolve_device(name).device.id for name in names)


def _owned(specs: list[str] | None, root: Path | None) -> list[tuple[str, Grounds, int]]:
    """Return what the user has, by name; without a word this machine's devices."""
    from estimator.app.host import host_devices
    from estimator.catalog.lookup import resolve_device
    from estimator.cli.host import host_facts
    from estimator.cli.machines import ground_here

    ground = ground_here(root)
    if specs:
        found = [(spec, resolve_device(spec)) for spec in specs]
        return [(spec, ground(resolution.device), resolution.count) for spec, resolution in found]
    here = host_devices(host_facts(root)).devices
    names = ["cpu", *(f"cuda:{index}" for index in range(len(here)))]
    return [(f"this machine ({name})", ground(device), 1) for name, device in zip(names, here, strict=False)]
