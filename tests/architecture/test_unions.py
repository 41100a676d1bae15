from __future__ import annotations

import collections.abc
import importlib
import typing
from collections.abc import Iterator
from dataclasses import is_dataclass
from types import ModuleType
from typing import Any

import pytest

from tests.architecture.source import DOMAIN, modules

UNIONS = [
    ("toolreel_core._protocol.events", "Event"),
    ("toolreel_core._protocol.effects", "Effect"),
    ("toolreel_core._protocol.state", "Phase"),
    ("toolreel_core._protocol.outcome", "Outcome"),
    ("toolreel_core._protocol.notes", "Note"),
]

BESIDE = {"Spent", "HttpResponse", "HttpChunk"}
"""What events have in them, or are made of."""


def loaded() -> list[ModuleType]:
    return [importlib.import_module(module.name) for module in modules(DOMAIN)]


def dataclasses_of(module: ModuleType) -> Iterator[type[Any]]:
    for value in vars(module).values():
        if isinstance(value, type) and is_dataclass(value) and value.__module__ == module.__name__:
            yield value


def members(module: str, name: str) -> tuple[type[Any], ...]:
    union = getattr(importlib.import_module(module), name)
    found = typing.get_args(union) or (union,)
    assert all(isinstance(member, type) for member in found), f"{name} is no union of classes: {union!r}"
    return found


def callable_fields(cls: type[Any], names: dict[str, object]) -> Iterator[str]:
    """Paths of all fields, of a class and of those it is made of, that are typed as callable."""
    pending: list[tuple[str, object]] = [(cls.__name__, cls)]
    seen: list[object] = []
    while pending:
        path, hint = pending.pop()
        if hint in seen:
            continue
        seen.append(hint)
        origin = typing.get_origin(hint)
        if collections.abc.Callable in (hint, origin):
            yield path
        elif isinstance(hint, type) and is_dataclass(hint):
            hints = typing.get_type_hints(hint, localns=names)
            pending.extend((f"{path}.{name}", item) for name, item in hints.items())
        else:
            pending.extend((path, item) for item in typing.get_args(hint))


@pytest.fixture(scope="module")
def names() -> dict[str, object]:
    """Every name of the core, for annotations that were imported for type checkers only."""
    found: dict[str, object] = vars(typing) | vars(collections.abc)
    for module in loaded():
        found |= vars(module)
    return found


def test_every_dataclass_of_the_core_is_frozen_and_slotted() -> None:
    loose = [
        f"{cls.__module__}.{cls.__name__}"
        for module in loaded()
        for cls in dataclasses_of(module)
        if not cls.__dataclass_params__.frozen or "__slots__" not in vars(cls) or cls.__dictoffset__
    ]
    assert loose == []


@pytest.mark.parametrize(("module", "union"), UNIONS, ids=[name for _, name in UNIONS])
def test_a_union_is_made_of_data(module: str, union: str, names: dict[str, object]) -> None:
    found = members(module, union)
    assert [cls.__name__ for cls in found if not is_dataclass(cls)] == []
    assert [path for cls in found for path in callable_fields(cls, names)] == []
    if union in {"Event", "Outcome", "Note"}:
        there = {cls for cls in dataclasses_of(importlib.import_module(module)) if cls.__name__ not in BESIDE}
        assert set(found) == there, "one is not in the union"
