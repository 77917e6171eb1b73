"""The flags of a training run, written once: a decorator gives them to every command that predicts."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, get_type_hints

from estimator.cli import options as o

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.app.request import Request


@dataclass(frozen=True, kw_only=True)
class RecipeFlags:
    """What the command line said about the run; field names are flags, None is "not said"."""

    network: o.Network = ""
    batch: o.Batch = None
    precision: o.Precision = None
    epochs: o.Epochs = None
    steps: o.Steps = None
    samples: o.Samples = None
    devices: o.Count = None
    link: o.Link = None
    optimizer: o.Optimizer = None
    accumulation: o.Accumulation = None
    checkpointing: o.Checkpointing = None
    framework: o.Framework = None
    mode: o.Mode = None
    layout: o.Layout = None
    attention: o.Attention = None
    era: o.Era = None
    inference: o.Inference = False
    coverage: o.Coverage = 0.8
    set_: o.Set = None

    def request(self) -> Request:
        """Return the request these flags make."""
        from estimator.app.request import Request

        said = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "set_"}
        return Request(**said, overrides=tuple(self.set_ or ()))


def takes_recipe(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the flags of RecipeFlags; it gets them as its parameter ``recipe``.

    Typer reads parameters off a signature, so the signature of the returned function is composed: the
    network, then the command's own parameters, then the rest of the recipe. A command's own parameter of a
    flag's name stands in its place and the recipe then leaves it unsaid.
    """
    hints = get_type_hints(RecipeFlags, include_extras=True)
    own_hints = get_type_hints(command, include_extras=True)
    own = [p for name, p in inspect.signature(command).parameters.items() if name != "recipe"]
    shared = [
        inspect.Parameter(
            f.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if f.name == "network" else f.default,
            annotation=hints[f.name],
        )
        for f in fields(RecipeFlags)
        if f.name not in {p.name for p in own}
    ]

    def run(**given: Any) -> None:  # noqa: ANN401 - whatever the composed signature says
        recipe = RecipeFlags(**{p.name: given.pop(p.name) for p in shared})
        command(recipe=recipe, **given)

    own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=own_hints[p.name]) for p in own]
    first = [p for p in (*shared, *own) if p.name == "network"]
    parameters = [*first, *(p for p in (*own, *shared) if p not in first)]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    run.__doc__ = command.__doc__
    run.__name__ = command.__name__
    return run
