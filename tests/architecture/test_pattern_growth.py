"""Every pattern is linear in what it reads: no run of blanks or brackets makes it quadratic."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import product
from typing import Any, cast

import pytest

from tests.architecture.source import ADAPTERS, DOMAIN, Module, modules
from tests.properties.growth import RUNS, superlinear
from toolreel_core._lazy_pattern import LazyPattern

PARSER: Any = import_module("re._parser")  # how Python itself reads a pattern
SEARCHING = frozenset({"search", "finditer", "findall", "sub", "subn", "split"})


def patterns(module: Module) -> Iterator[tuple[str, re.Pattern[str]]]:
    """The compiled patterns of a module, also those in its tuples and mappings, by their names."""
    for name, value in vars(import_module(module.name)).items():
        for pattern in _compiled(value):
            if _is_bound(module, name):
                yield name, pattern


def _compiled(value: object) -> Iterator[re.Pattern[str]]:
    match value:
        case re.Pattern(pattern=str()) | LazyPattern(pattern=str()):
            yield cast("re.Pattern[str]", value)
        case tuple() | list():
            for item in value:
                yield from _compiled(item)
        case Mapping():
            for item in list(value.values()):
                yield from _compiled(item)
        case _:
            pass


def _is_bound(module: Module, name: str) -> bool:
    """Whether the module defines the name, instead of importing it."""
    targets: list[ast.expr] = []
    for statement in module.tree.body:
        if isinstance(statement, ast.Assign):
            targets.extend(statement.targets)
        elif isinstance(statement, ast.AnnAssign):
            targets.append(statement.target)
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


@cache
def searched() -> frozenset[str]:
    """Names of patterns that search a text, instead of matching at a place."""
    names: set[str] = set()
    for module in (*modules(DOMAIN), *modules(ADAPTERS)):
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                receiver = node.func.value
                arguments = [argument.id for argument in node.args if isinstance(argument, ast.Name)]
                while isinstance(receiver, ast.Subscript):
                    receiver = receiver.value
                if node.func.attr in SEARCHING:
                    names.update(f"{module.name}.{name}" for name in arguments)  # source.search(_PATTERN, at)
                    if isinstance(receiver, ast.Name):
                        names.add(f"{module.name}.{receiver.id}")
    return frozenset(names)


READING = [
    module
    for module in (*modules(DOMAIN), *modules(ADAPTERS))
    if any(call in module.path.read_text() for call in ("lazy_pattern(", "re.compile("))
]


@pytest.mark.parametrize("module", READING, ids=str)
def test_a_pattern_is_linear_in_a_run_behind_what_it_begins_with(module: Module) -> None:
    found = []
    for name, pattern in patterns(module):
        for head, run in product(beginnings(pattern), " \n"):
            if growth := _growth(pattern, head, run, "x\0", searches=f"{module.name}.{name}" in searched()):
                found.append(f"{name} on {head!r} + {run!r}...: {growth}")
    assert found == []


@pytest.mark.parametrize("module", READING, ids=str)
def test_a_pattern_is_linear_in_a_run_of_a_character(module: Module) -> None:
    assert list(grown(module, [run for run in RUNS if len(run) == 1], [("", "\0")])) == []


@pytest.mark.slow
@pytest.mark.parametrize("module", READING, ids=str)
def test_a_pattern_is_linear_in_what_replies_repeat(module: Module) -> None:
    assert list(grown(module, RUNS, [("", ""), ("x", "\0")])) == []


def grown(module: Module, runs: Iterable[str], around: Sequence[tuple[str, str]]) -> Iterator[str]:
    """The patterns of a module whose cost is out of proportion to a run, each with what was measured."""
    for name, pattern in patterns(module):
        whole = f"{module.name}.{name}"
        for run, (head, tail) in product(runs, around):
            if growth := _growth(pattern, head, run, tail, searches=whole in searched()):
                yield f"{name} on {head!r} + {run!r}...: {growth}"
                break


def _growth(pattern: re.Pattern[str], head: str, run: str, tail: str, *, searches: bool) -> str:
    def text(size: int) -> str:
        return head + run * (size // len(run)) + tail

    matched = superlinear(lambda size: pattern.match(text(size)))
    if matched or not searches:
        return matched
    return superlinear(lambda size: list(pattern.finditer(text(size))))


def beginnings(pattern: re.Pattern[str]) -> set[str]:
    """What each part of a pattern that repeats something may stand behind."""
    found: set[str] = set()
    _example(PARSER.parse(pattern.pattern, pattern.flags), "", found)
    return found


def _example(parts: Iterable[tuple[Any, Any]], text: str, found: set[str]) -> str:
    """A text that parts of a pattern match, behind another; adds what precedes each repetition."""
    for kind, value in parts:
        match kind, value:
            case PARSER.LITERAL, int(code):
                text += chr(code)
            case PARSER.IN, [(PARSER.LITERAL, int(code)), *_]:
                text += chr(code)
            case ((PARSER.IN | PARSER.NOT_LITERAL | PARSER.ANY), _):
                text += "a"
            case PARSER.SUBPATTERN, (_, _, _, inner):
                text = _example(inner, text, found)
            case PARSER.ATOMIC_GROUP, inner:
                text = _example(inner, text, found)
            case PARSER.BRANCH, (_, [first, *_]):
                text = _example(first, text, found)
            case ((PARSER.MAX_REPEAT | PARSER.MIN_REPEAT | PARSER.POSSESSIVE_REPEAT), (least, _, inner)):
                found.add(text)
                for _ in range(min(least, 3)):
                    text = _example(inner, text, found)
            case _:
                pass  # an assertion, or a reference to a group
    return text
