"""Arguments that plainly fit an everyday schema, recognised without jsonschema.

A schema is compiled once to functions of a line or two, which say of parsed JSON what jsonschema says, some
forty times as fast; a schema in which anything is not known here is not known at all. Left to jsonschema
are, beside rarer keywords, references that lead back to themselves, what compares arrays and objects, and
``oneOf`` and ``not``, which rely on a "no": of a check, only the "yes" counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import lru_cache, partial
from operator import ge, gt, le, lt
from typing import Any, Final, TypeAlias, cast

from toolreel_core._jsontext.canonical import Json, JsonText, Tree, deeper, parse
from toolreel_core._schema.metaschema import is_everyday

__all__ = ["MAX_LEVELS", "Check", "compiled"]

Check: TypeAlias = Callable[[Json], bool]
"""Whether a value fits the schema that it was compiled from, with no doubt."""

MAX_LEVELS: Final = 64
"""Levels of a schema; jsonschema would reach Python's recursion limit at about 100."""

_CLASSES: Final[Mapping[str, Sequence[type]]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
_SCALARS: Final = frozenset({bool, float, int, str, type(None)})
_PART: Final = re.compile(r"#/\$defs/([\w.-]+)", re.ASCII)
"""A reference that needs no decoding."""


@lru_cache(maxsize=1024)
def compiled(schema: JsonText) -> Check | None:
    """The check of a tool's schema, which is sound then; nothing, if jsonschema has to look at it.

    >>> from toolreel_core._jsontext.canonical import canonical
    >>> check = compiled(canonical({"properties": {"n": {"type": "integer"}}, "required": ["n"]}))
    >>> check({"n": 1}), check({"n": "1"}), check({})
    (True, False, False)
    >>> compiled(canonical({"oneOf": [{"type": "string"}]}))
    """
    if deeper(schema, MAX_LEVELS):
        return None
    tree = parse(schema)
    if not isinstance(tree, Mapping) or not is_everyday(tree):
        return None
    parts = cast("Tree", tree.get("$defs", {}))
    compiler = _Compiler(parts)
    try:
        for part in parts.values():  # also those that nothing refers to, since they have to be sound
            compiler.check(part, 1)
        return compiler.check({keyword: tree[keyword] for keyword in tree if keyword != "$defs"}, 0)
    except _UnknownError:
        return None


class _UnknownError(Exception):
    """There is something in a schema that is not known here."""


@dataclass(frozen=True, slots=True)
class _Compiler:
    """Makes checks of one schema and all that is in it."""

    parts: Tree
    """Those that references lead to."""
    made: dict[tuple[str, int], Check] = field(default_factory=dict)
    """The check of each part, by the level at which it stands."""

    def check(self, schema: Json, level: int) -> Check:
        """The check of an everyday schema that stands at a level, references counted as if it stood there."""
        if isinstance(schema, bool):
            return _anything if schema else _nothing
        said = cast("Mapping[str, Any]", schema)
        if level > MAX_LEVELS or not said.keys() <= _KNOWN:
            raise _UnknownError
        inside = partial(self.check, level=level + 1)
        checks = [_ALONE[keyword](value) for keyword, value in said.items() if keyword in _ALONE]
        checks += map(inside, said.get("allOf", ()))
        if "$ref" in said:
            checks.append(self._part(said["$ref"], level + 1))
        if "anyOf" in said:
            checks.append(_any_of([*map(inside, said["anyOf"])]))
        if "items" in said:
            checks.append(_items(inside(said["items"])))
        if not _OF_OBJECTS.isdisjoint(said):
            named = {name: inside(each) for name, each in said.get("properties", {}).items()}
            other = inside(said.get("additionalProperties", True))
            checks.append(_members(named, other, said.get("required", ())))
        return _all_of(checks)

    def _part(self, reference: str, level: int) -> Check:
        """What a reference leads to; one that leads back to itself ends at the deepest level."""
        found = _PART.fullmatch(reference)
        if not found or found[1] not in self.parts:
            raise _UnknownError
        at = found[1], level
        if at not in self.made:
            self.made[at] = self.check(self.parts[found[1]], level)
        return self.made[at]


def _anything(_: Json) -> bool:
    return True


def _nothing(_: Json) -> bool:
    return False


def _all_of(checks: Sequence[Check]) -> Check:
    match checks:
        case []:
            return _anything
        case [only]:
            return only
        case [first, second]:
            return lambda value: first(value) and second(value)
        case _:
            return lambda value: all(check(value) for check in checks)


def _any_of(checks: Sequence[Check]) -> Check:
    match checks:
        case [first, second]:
            return lambda value: first(value) or second(value)
        case _:
            return lambda value: any(check(value) for check in checks)


def _items(check: Check) -> Check:
    return lambda value: not isinstance(value, list) or all(map(check, value))


def _members(named: Mapping[str, Check], other: Check, required: Sequence[str]) -> Check:
    needed = frozenset(required)

    def members(value: Json) -> bool:
        if not isinstance(value, dict):
            return True
        for name, member in value.items():
            if not named.get(name, other)(member):
                return False
        return needed <= value.keys()

    return members


def _type(kinds: str | Sequence[str]) -> Check:
    named = [kinds] if isinstance(kinds, str) else kinds
    classes = frozenset(each for kind in named for each in _CLASSES[kind])
    if "integer" not in named:
        return lambda value: type(value) in classes
    return lambda value: type(value) in classes or (isinstance(value, float) and value.is_integer())


def _enum(choices: Sequence[Json]) -> Check:
    if not _SCALARS.issuperset(map(type, choices)):
        raise _UnknownError
    known = frozenset((type(choice) is bool, choice) for choice in choices)  # to Python, True is 1
    return lambda value: type(value) in _SCALARS and (type(value) is bool, value) in known


def _const(only: Json) -> Check:
    return _enum([only])


def _pattern(pattern: str) -> Check:
    search = re.compile(pattern).search
    return lambda value: not isinstance(value, str) or search(value) is not None


def _size(kind: type[Sized], holds: Callable[[int, int], bool], bound: int) -> Check:
    return lambda value: not isinstance(value, kind) or holds(len(value), bound)


def _number(holds: Callable[[float, float], bool], bound: float) -> Check:
    return lambda value: isinstance(value, bool) or not isinstance(value, int | float) or holds(value, bound)


_ALONE: Final[Mapping[str, Callable[[Any], Check]]] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "pattern": _pattern,
    "minLength": partial(_size, str, ge),
    "maxLength": partial(_size, str, le),
    "minItems": partial(_size, list, ge),
    "maxItems": partial(_size, list, le),
    "minProperties": partial(_size, dict, ge),
    "maxProperties": partial(_size, dict, le),
    "minimum": partial(_number, ge),
    "maximum": partial(_number, le),
    "exclusiveMinimum": partial(_number, gt),
    "exclusiveMaximum": partial(_number, lt),
}
"""Keywords that hold no schema and look at no other keyword."""
_OF_OBJECTS: Final = frozenset({"additionalProperties", "properties", "required"})
_ANNOTATIONS: Final = frozenset(
    {
        *("$comment", "$schema", "default", "deprecated", "description", "examples", "format"),
        *("contentEncoding", "contentMediaType", "readOnly", "title", "writeOnly"),
    }
)
_KNOWN: Final = frozenset({*_ALONE, *_OF_OBJECTS, *_ANNOTATIONS, "$ref", "allOf", "anyOf", "items"})
