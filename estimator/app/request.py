"""What a user asks for: some of a recipe given, the rest from defaults that are said."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from estimator.errors import InputError, suggestion
from estimator.hardware.architecture import DeviceKind
from estimator.networks.layouts import settled
from estimator.networks.optimizers import OPTIMIZERS
from estimator.networks.training import Checkpointing
from estimator.precision import POLICIES
from estimator.provenance import Assumption
from estimator.software import (
    FOREACH_SINCE,
    AttentionKernel,
    Layout,
    Mode,
    OptimizerKernels,
)

if TYPE_CHECKING:
    from estimator.networks.graph import Network
    from estimator.networks.training import Training
    from estimator.software import Software

E = TypeVar("E", bound=StrEnum)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Everything a command line can say about a training run; None is "not said"."""

    network: str
    overrides: tuple[str, ...] = ()
    batch: int | None = None
    precision: str | None = None
    epochs: float | None = None
    steps: int | None = None
    samples: int | None = None
    optimizer: str | None = None
    accumulation: int | None = None
    checkpointing: str | None = None
    devices: int | None = None
    link: str | None = None
    framework: str | None = None
    mode: str | None = None
    layout: str | None = None
    attention: str | None = None
    era: int | None = None
    inference: bool = False
    coverage: float = 0.8

    def inputs(self) -> dict[str, object]:
        """Return what was asked, for the result's ``inputs``: what was not said is left out."""
        said = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value for name, value in said.items() if value not in (None, (), False)}


def choice(kind: type[E], value: str, flag: str) -> E:
    """Return the member of an enumeration that a flag names, or raise InputError with the choices."""
    normal = value.strip().lower().replace("-", "_")
    for member in kind:
        if member.value == normal:
            return member
    names = [member.value for member in kind]
    raise InputError(
        f"{flag}: unknown value {value!r}",
        hint=suggestion(normal, names) or f"choose from {', '.join(names)}",
    )


def software_of(request: Request, base: Software) -> Software:
    """Return the software asked for, starting from the recipe's."""
    changes: dict[str, object] = {}
    if request.framework is not None:
        changes["framework"] = request.framework.lower()
    if request.mode is not None:
        changes["mode"] = choice(Mode, request.mode, "--mode")
    if request.layout is not None:
        changes["layout"] = choice(Layout, request.layout, "--layout")
    if request.attention is not None:
        changes["attention"] = choice(AttentionKernel, request.attention, "--attention")
    if request.era is not None:
        changes["era"] = request.era
    return replace(base, **changes)  # type: ignore[arg-type]


def training_of(request: Request, recipe: Training) -> Training:
    """Return the recipe with what the user said in place of its own values."""
    changes: dict[str, object] = {"software": software_of(request, recipe.software)}
    for name in ("batch", "epochs", "steps", "samples", "accumulation"):
        value = getattr(request, name)
        if value is not None:
            changes[name] = value
    if request.epochs is not None and not 0 < request.epochs < 1e9:  # noqa: PLR2004 - a typing slip, not a plan
        raise InputError(f"--epochs: {request.epochs} is not a number of epochs")
    if request.precision is not None:
        changes["precision"] = POLICIES.get(request.precision.lower())
    if request.optimizer is not None:
        changes["optimizer"] = OPTIMIZERS.get(request.optimizer.lower())
    if request.checkpointing is not None:
        changes["checkpointing"] = choice(Checkpointing, request.checkpointing, "--checkpointing")
    if request.steps is not None:
        changes["epochs"] = None
    if request.epochs is not None:
        changes["steps"] = None
    return replace(recipe, training=not request.inference, **changes)  # type: ignore[arg-type]


def run_on(network: Network, training: Training, kind: DeviceKind) -> Training:
    """Return the recipe as a framework runs a network on one kind of device, in the layout it ends up in."""
    return settled(network, on_kind(training, kind), on_cpu=kind is DeviceKind.CPU)


def on_kind(training: Training, kind: DeviceKind) -> Training:
    """Return the recipe as a framework runs it on one kind of device.

    On a CPU, and on GPUs before 2023, optimizers visit parameters one by one; tuned code has brought
    optimizers of one pass since Apex (2018), and compilers make one of the whole update. No layout changes
    are needed where there are no tensor cores (the predictor drops them for such GPUs).
    """
    software = training.software
    fused = software.mode is not Mode.EAGER or software.optimizer is OptimizerKernels.FUSED
    if kind is DeviceKind.CPU or (software.era < FOREACH_SINCE and not fused):
        software = replace(software, optimizer=OptimizerKernels.SINGLE)
    elif fused:
        software = replace(software, optimizer=OptimizerKernels.FUSED)
    return replace(training, software=software)


def assumptions_of(request: Request, training: Training) -> list[Assumption]:
    """Return what the user left open and the answer takes for granted."""
    taken = (
        ("batch", request.batch is None, str(training.batch), "--batch"),
        ("precision", request.precision is None, training.precision.name, "--precision"),
        ("optimizer", request.optimizer is None, training.optimizer.name, "--optimizer"),
    )
    return [
        Assumption(what=what, value=value, why=f"not said; change it with {flag}")
        for what, is_default, value, flag in taken
        if is_default
    ]
