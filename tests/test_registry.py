"""A registry says what it knows: the nearest name, or all where they are few."""

from __future__ import annotations

from typing import Any

import pytest

from estimator.errors import InputError
from estimator.networks.optimizers import OPTIMIZERS
from estimator.precision import POLICIES
from estimator.registry import Registry
from estimator.report.render import FORMATS


def refusal(registry: Registry[Any], name: str) -> str:
    with pytest.raises(InputError) as caught:
        registry.get(name)
    return str(caught.value)


@pytest.mark.parametrize("registry", [OPTIMIZERS, FORMATS, POLICIES], ids=lambda each: each.kind)
def test_a_name_near_to_none_lists_the_choices(registry: Registry[Any]) -> None:
    assert refusal(registry, "qqqq") == f"unknown {registry.kind} 'qqqq'; choose from {', '.join(registry)}"


def test_a_near_name_is_suggested_alone() -> None:
    assert refusal(OPTIMIZERS, "adm") == "unknown optimizer 'adm'; did you mean 'adam'?"


def test_what_is_too_much_to_read_is_not_listed() -> None:
    many: Registry[object] = Registry("thing")
    for number in range(100):
        many.add(f"a{number}", number)
    assert refusal(many, "zzzz") == "unknown thing 'zzzz'"
