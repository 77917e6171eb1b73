"""Reading mappings with fixed keys: unknown keys are told, values checked against kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from estimator.document import MapNode
from estimator.errors import suggestion
from estimator.networks.language.kinds import RefusedError
from estimator.networks.language.terms import read_term
from estimator.networks.language.tokens import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Collection

    from estimator.document import Node
    from estimator.networks.language.expression import Environment
    from estimator.networks.language.kinds import Kind
    from estimator.networks.language.problems import Problems


def entries(node: Node | None, known: Collection[str], what: str, problems: Problems) -> dict[str, Node]:
    """Return a mapping's nodes by key; ``what`` names it in messages about unknown keys."""
    if node is None:
        return {}
    if not isinstance(node, MapNode):
        problems.add(f"{what} must be a mapping", node.at, f"with keys {', '.join(known)}" if known else None)
        return {}
    found: dict[str, Node] = {}
    for key, value in node.entries:
        name = str(key.value)
        if name in known:
            found[name] = value
        else:
            hint = suggestion(name, known) or f"known are {', '.join(known)}"
            problems.add(f"unknown key {name!r} in {what}", key.at, hint)
    return found


def checked(node: Node, kind: Kind, what: str, values: Environment, problems: Problems) -> Any:  # noqa: ANN401 - any kind
    """Return the value of a node if it is of a kind, or None after reporting why not."""
    before = len(problems)
    term = read_term(node, problems)
    if len(problems) > before:
        return None
    try:
        return kind.accept(term.evaluate(values))
    except (ExpressionError, RefusedError) as error:
        text = error.message if isinstance(error, ExpressionError) else f"{what}: {error.message}"
        problems.add(text, node.at, error.hint)
        return None
