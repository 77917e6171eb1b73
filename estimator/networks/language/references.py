"""Resolving ``from``, ``tie`` and ``reuse``: names of layers become references to their outputs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from estimator.errors import suggestion
from estimator.networks.graph import Reference
from estimator.networks.language.arithmetic import shown
from estimator.networks.language.tokens import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.errors import Location
    from estimator.networks.language.frame import Frame
    from estimator.networks.language.problems import Problems
    from estimator.networks.language.scope import Flow, Target
    from estimator.networks.language.terms import Term

_OUTPUT = re.compile(r"(.+)\.([0-9]{1,2})")
UNKNOWN: Flow = (Reference(0),)  # stands for what an error left open; no network is made with it


def resolve_sources(sources: Sequence[Term], frame: Frame, above: Flow, problems: Problems) -> Flow:
    """Return what ``from`` names; ``above`` is what ``prev`` stands for."""
    flow: list[Reference] = []
    for source in sources:
        for name in _names(source, frame, problems):
            flow.extend(_output(name, source.at, frame, above, problems))
    return tuple(flow) or UNKNOWN


def mentions_prev(sources: Sequence[Term]) -> bool:
    """Tell whether ``from`` takes the output above, among others."""
    return any(str(source.constant).split(".")[0] == "prev" for source in sources)


def find_target(name: Term, frame: Frame, problems: Problems) -> Target | None:
    """Return the layer or container that ``tie`` or ``reuse`` names, or None after reporting."""
    (text, *more) = _names(name, frame, problems) or ("",)
    if not text:
        return None
    target = None if more else frame.scope.find(text)
    if target is None:
        _undefined(text, name.at, frame, problems)
    return target


def _names(source: Term, frame: Frame, problems: Problems) -> tuple[str, ...]:
    try:
        value = source.evaluate(frame.values)
    except ExpressionError as error:
        problems.add(error.message, source.at, error.hint)
        return ()
    values = value if isinstance(value, tuple) else (value,)
    names = tuple(item for item in values if isinstance(item, str))
    if len(names) < len(values):
        problems.add(f"expected the name of a layer, got {shown(value)}", source.at)
        return ()
    return names


def _output(name: str, at: Location, frame: Frame, above: Flow, problems: Problems) -> Flow:
    match = _OUTPUT.fullmatch(name)
    whole, index = (match.group(1), int(match.group(2))) if match else (name, None)
    if whole in ("prev", "in"):
        flow = above if whole == "prev" else frame.entry
        if flow is None:
            problems.add("'in' is the input of a block, and this is not in one", at)
            return UNKNOWN
        return _pick(flow, whole, index, at, problems)
    target = frame.scope.find(whole)
    if target is None:
        _undefined(whole, at, frame, problems)
        return UNKNOWN
    if index is None:
        return target.outputs
    found = target.output(index)
    if found is None:
        problems.add(f"{whole!r} has {len(target.outputs)} outputs, and no output {index}", at)
        return UNKNOWN
    return (found,)


def _pick(flow: Flow, name: str, index: int | None, at: Location, problems: Problems) -> Flow:
    if not flow:
        problems.add("there is no output above this layer", at, "name an input")
        return UNKNOWN
    if index is None:
        return flow
    if len(flow) == 1:  # further outputs of the one layer above
        return (Reference(flow[0].node, index),)
    if index >= len(flow):
        problems.add(f"{name!r} has {len(flow)} outputs, and no output {index}", at)
        return UNKNOWN
    return (flow[index],)


def _undefined(name: str, at: Location, frame: Frame, problems: Problems) -> None:
    problems.add(
        f"{name!r} is not defined before this layer", at, suggestion(name, (*frame.scope.visible(), "prev"))
    )
