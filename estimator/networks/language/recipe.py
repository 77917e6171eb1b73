"""The ``training:`` section, or a recipe file of its own: batch, length of the run, precision, optimizer."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from estimator.document import MapNode, Scalar
from estimator.errors import suggestion
from estimator.layers.arguments import Range
from estimator.networks.language.annotations import kind_of
from estimator.networks.language.fields import checked, entries
from estimator.networks.language.kinds import Items, Number, Text, Truth, Whole
from estimator.networks.language.problems import Problems, StopReadingError
from estimator.networks.optimizers import OPTIMIZERS
from estimator.networks.training import Checkpointing
from estimator.precision import POLICIES
from estimator.software import AttentionKernel, Layout, Mode, OptimizerKernels, Software

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.document import Node
    from estimator.networks.language.expression import Environment
    from estimator.networks.language.kinds import Kind
    from estimator.networks.optimizers import OptimizerRule
    from estimator.registry import Registry

_COUNT = Range(1, 10**15)
_RATE = Range(1e-9, 1e12)
NUMBERS: Mapping[str, Kind] = {
    "batch": Whole(Range(1)),
    "accumulation": Whole(Range(1)),
    "epochs": Number(Range(0.0, 1e9)),
    "steps": Whole(_COUNT),
    "samples": Whole(_COUNT),
    "validation_share": Number(Range(0.0, 1.0)),
    "checkpointing": kind_of(Checkpointing),
}
SOFTWARE: Mapping[str, Kind] = {
    "framework": Text(),
    "mode": kind_of(Mode),
    "layout": kind_of(Layout),
    "attention": kind_of(AttentionKernel),
    "optimizer": kind_of(OptimizerKernels),
    "era": Whole(Range(2007, 2100)),
}
PIPELINE: Mapping[str, Kind] = {"samples_per_s": Number(_RATE)}
KEYS = (*NUMBERS, "precision", "optimizer", "software", "input_pipeline")
# torch.optim's arguments; those that change no kernel are read so that a recipe can be kept whole.
OPTIMIZER_ARGUMENTS: Mapping[str, Kind] = {
    "lr": Number(Range(0.0, 1e6)),
    "momentum": Number(Range(0.0, 1.0)),
    "nesterov": Truth(),
    "weight_decay": Number(Range(0.0, 1e6)),
    "betas": Items(Number(Range(0.0, 1.0)), 2),
    "eps": Number(Range(0.0, 1e6)),
    "amsgrad": Truth(),
}
_MOMENTUM_OPTIMIZERS = ("sgd", "rmsprop")
_ADAMS = ("adam", "adamw")


def read_recipe(document: Node) -> Mapping[str, Any]:
    """Read a recipe file: the fields of Training that it sets. Raises InputError with all that is wrong."""
    problems = Problems()
    found: Mapping[str, Any] = {}
    node = document
    with suppress(StopReadingError):
        if isinstance(document, MapNode) and (inner := document.get("training")) is not None:
            entries(document, ("format", "training"), "the recipe", problems)
            node = inner
        found = read_training(node, {}, problems)
    problems.raise_all()
    return found


def read_training(node: Node, values: Environment, problems: Problems) -> Mapping[str, Any]:
    """Return the fields of Training that a section sets."""
    nodes = entries(node, KEYS, "'training'", problems)
    found: dict[str, Any] = {}
    for name, kind in NUMBERS.items():
        if name in nodes:
            found[name] = checked(nodes[name], kind, name, values, problems)
    if "epochs" in nodes and "steps" in nodes:
        problems.add("a run is either 'epochs' or 'steps' long", nodes["steps"].at, "remove one of them")
    if "precision" in nodes:
        found["precision"] = _registered(POLICIES, nodes["precision"], values, problems)
    if "optimizer" in nodes:
        found["optimizer"] = _optimizer(nodes["optimizer"], values, problems)
    if "software" in nodes:
        settings = _checked_all(nodes["software"], SOFTWARE, "'software'", values, problems)
        found["software"] = replace(Software(), **settings)
    if "input_pipeline" in nodes:
        pipeline = _checked_all(nodes["input_pipeline"], PIPELINE, "'input_pipeline'", values, problems)
        found["images_per_s"] = pipeline.get("samples_per_s")
    return found


def _checked_all(
    node: Node, kinds: Mapping[str, Kind], what: str, values: Environment, problems: Problems
) -> dict[str, Any]:
    nodes = entries(node, kinds, what, problems)
    found = {name: checked(one, kinds[name], name, values, problems) for name, one in nodes.items()}
    return {name: value for name, value in found.items() if value is not None}


def _registered(registry: Registry[Any], node: Node, values: Environment, problems: Problems) -> Any:  # noqa: ANN401 - of the registry's type
    name = checked(node, Text(), registry.kind, values, problems)
    if name is None:
        return None
    if name.lower() in registry:
        return registry.get(name.lower())
    hint = suggestion(name, registry) or f"known are {', '.join(registry)}"
    problems.add(f"unknown {registry.kind} {name!r}", node.at, hint)
    return None


def _optimizer(node: Node, values: Environment, problems: Problems) -> OptimizerRule | None:
    """Read ``adamw`` or ``{type: SGD, momentum: 0.9}``, with torch.optim's names."""
    if isinstance(node, Scalar):
        rule: OptimizerRule | None = _registered(OPTIMIZERS, node, values, problems)
        return rule
    nodes = entries(node, ("type", *OPTIMIZER_ARGUMENTS), "'optimizer'", problems)
    if not isinstance(node, MapNode):
        return None
    if "type" not in nodes:
        problems.add("'optimizer' needs a 'type'", node.at, f"one of {', '.join(OPTIMIZERS)}")
        return None
    rule = _registered(OPTIMIZERS, nodes.pop("type"), values, problems)
    arguments = {
        name: checked(one, OPTIMIZER_ARGUMENTS[name], name, values, problems) for name, one in nodes.items()
    }
    if rule is None:
        return None
    for name in arguments:
        allowed = {"momentum": _MOMENTUM_OPTIMIZERS, "nesterov": ("sgd",), "amsgrad": _ADAMS}.get(name)
        if allowed is not None and rule.name not in allowed:
            problems.add(f"{rule.name} has no {name!r}", nodes[name].at, "remove it")
    return optimizer_rule(rule, arguments)


def optimizer_rule(rule: OptimizerRule, arguments: Mapping[str, Any]) -> OptimizerRule:
    """Return the rule that torch.optim's arguments select.

    The additional element-wise operations are those of torch.optim's un-fused code: weight decay is
    ``g += wd * p`` (AdamW's and Lion's own is in their rule); amsgrad keeps ``v_max = max(v_max, v)``;
    RMSprop's momentum ``b *= m; b += g / d; p -= lr b`` takes the place of ``p -= lr g / d``.
    """
    if rule.name == "sgd" and arguments.get("momentum"):
        rule = OPTIMIZERS.get("nesterov" if arguments.get("nesterov") else "momentum")
    elif rule.name == "rmsprop" and arguments.get("momentum"):
        rule = replace(rule, states=rule.states + 1, steps=(*rule.steps[:-1], 2, 4, 3), fused=rule.fused + 2)
    if arguments.get("amsgrad"):
        rule = replace(rule, states=rule.states + 1, steps=(*rule.steps, 3), fused=rule.fused + 2)
    if arguments.get("weight_decay") and rule.name not in ("adamw", "lion", "none"):
        rule = replace(rule, steps=(3, *rule.steps))
    return rule
