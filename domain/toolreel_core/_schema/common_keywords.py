"""Accept arguments for common schemas without importing jsonschema, which takes 60 ms.

A schema of common keywords is compiled to closures of a line or two. A check may only accept: jsonschema
decides every rejection, and words it. A schema with a keyword that is not known here, or with a value that
its keyword may not have, is not compiled; so one that is compiled is sound without the metaschema.

Not compiled are choices that are arrays or objects, which jsonschema compares in its own way, references that
lead back to themselves, and keywords that are rare or, like ``oneOf`` and ``not``, need a check that rejects
reliably.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import lru_cache, partial
from operator import ge, gt, le, lt
from typing import Any, Final, TypeAlias, cast

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, JsonText, Tree, deeper, parse
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._schema.patterns import python_pattern

Check: TypeAlias = Callable[[Json], bool]
"""Whether a value fits the schema that it was compiled from, with no doubt; if ``False``, ask jsonschema."""

MAX_LEVELS: Final = 64
"""Levels of a schema; jsonschema would reach Python's recursion limit at about 100."""

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
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
_PART: Final = lazy_pattern(r"#/\$defs/([\w.-]+)", re.ASCII)
"""A reference without ``~`` or ``%``, so that there is nothing to decode in it."""


@lru_cache(maxsize=1024)
def compiled(schema: JsonText) -> Check | None:
    """The check of a tool's schema, which is then valid; ``None`` if jsonschema must decide.

    >>> from toolreel_core._jsontext.canonical import canonical
    >>> check = compiled(canonical({"properties": {"n": {"type": "integer"}}, "required": ["n"]}))
    >>> check({"n": 1}), check({"n": "1"}), check({})
    (True, False, False)
    >>> compiled(canonical({"type": "text"}))
    """
    if deeper(schema, MAX_LEVELS):
        return None
    try:
        tree = _object(parse(schema))
        compiler = _Compiler(_object(tree.get("$defs", {})))
        for part in compiler.parts.values():  # also those that nothing refers to, since they have to be sound
            compiler.check(part, 1)
        return compiler.check({keyword: tree[keyword] for keyword in tree if keyword != "$defs"}, 0)
    except _UnknownError:
        return None


class _UnknownError(Exception):
    """The schema has a keyword or value that this module does not know."""


def _require(known: bool) -> None:
    if not known:
        raise _UnknownError


def _object(value: Json) -> Tree:
    _require(isinstance(value, dict))
    return cast("Tree", value)


def _list(value: Json) -> list[Json]:
    _require(isinstance(value, list))
    return cast("list[Json]", value)


def _names(value: Json) -> list[str]:
    names = _list(value)
    _require(all(isinstance(name, str) for name in names) and len({*map(str, names)}) == len(names))
    return cast("list[str]", names)


@dataclass(frozen=True, slots=True)
class _Compiler:
    """Compiles one schema and its subschemas to checks."""

    parts: Tree
    """The definitions under ``$defs``, the only targets of references."""
    made: dict[tuple[str, int], Check] = field(default_factory=dict)
    """Compiled definitions by name and level."""

    def check(self, schema: Json, level: int) -> Check:
        """The check of a schema that stands at a level, references counted as if it stood there."""
        if isinstance(schema, bool):
            return _anything if schema else _nothing
        _require(level <= MAX_LEVELS)
        said, checks = _object(schema), list[Check]()
        for keyword, value in said.items():
            if keyword in _ANNOTATIONS:
                _require(isinstance(value, _ANNOTATIONS[keyword]))
            elif keyword in _ALONE:
                checks.append(_ALONE[keyword](value))
            elif keyword not in _OF_OBJECTS:
                checks.append(self._applied(keyword, value, level + 1))
        if not _OF_OBJECTS.isdisjoint(said):
            named = {
                name: self.check(each, level + 1)
                for name, each in _object(said.get("properties", {})).items()
            }
            other = self.check(said.get("additionalProperties", True), level + 1)
            checks.append(_members(named, other, _names(said.get("required", []))))
        return _all_of(checks)

    def _applied(self, keyword: str, value: Json, level: int) -> Check:
        """The check of a keyword that holds schemas."""
        match keyword:
            case "items":
                item = self.check(value, level)
                return lambda value: not isinstance(value, list) or all(map(item, value))
            case "allOf" | "anyOf":
                _require(bool(_list(value)))
                checks = [self.check(each, level) for each in _list(value)]
                return _all_of(checks) if keyword == "allOf" else _any_of(checks)
            case "$ref":
                return self._part(value, level)
            case _:
                raise _UnknownError

    def _part(self, reference: Json, level: int) -> Check:
        """What a reference leads to; one that leads back to itself ends at the deepest level."""
        found = _PART.fullmatch(reference) if isinstance(reference, str) else None
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
    return lambda value: all(check(value) for check in checks)


def _any_of(checks: Sequence[Check]) -> Check:
    return lambda value: any(check(value) for check in checks)


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


def _type(kinds: Json) -> Check:
    named = [kinds] if isinstance(kinds, str) else _names(kinds)
    _require(bool(named) and _CLASSES.keys() >= {*named})
    classes = frozenset(each for kind in named for each in _CLASSES[kind])
    if "integer" not in named:
        return lambda value: type(value) in classes
    # 3.0 is an integer to JSON Schema; True, an int to Python, is none.
    return lambda value: type(value) in classes or (isinstance(value, float) and value.is_integer())


def _enum(choices: Json) -> Check:
    _require(_SCALARS.issuperset(map(type, _list(choices))))
    known = frozenset((type(choice) is bool, choice) for choice in _list(choices))  # to Python, True is 1
    return lambda value: type(value) in _SCALARS and (type(value) is bool, value) in known


def _pattern(pattern: Json) -> Check:
    _require(isinstance(pattern, str))
    try:
        search = python_pattern(cast("str", pattern)).search
    except ConfigError:
        raise _UnknownError from None
    return lambda value: not isinstance(value, str) or search(value) is not None


def _size(kind: type[Sized], holds: Callable[[int, int], bool], bound: Json) -> Check:
    if type(bound) is not int or bound < 0:
        raise _UnknownError
    return lambda value: not isinstance(value, kind) or holds(len(value), bound)


def _number(holds: Callable[[float, float], bool], bound: Json) -> Check:
    if isinstance(bound, bool) or not isinstance(bound, int | float):
        raise _UnknownError
    return lambda value: isinstance(value, bool) or not isinstance(value, int | float) or holds(value, bound)


def _schema(draft: Json) -> Check:
    _require(draft == _DRAFT)
    return _anything


_ALONE: Final[Mapping[str, Callable[[Any], Check]]] = {
    "$schema": _schema,
    "type": _type,
    "enum": _enum,
    "const": lambda only: _enum([only]),
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
"""Keywords that are checked together, in one pass over the members."""
_ANNOTATIONS: Final[Mapping[str, type]] = {
    **dict.fromkeys(
        ("$comment", "contentEncoding", "contentMediaType", "description", "format", "title"), str
    ),
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly"), bool),
    "default": object,
    "examples": list,
}
"""Keywords that accept any value, and what they have to be themselves."""
