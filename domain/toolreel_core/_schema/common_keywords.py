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
        tree = _expect_object(parse(schema))
        compiler = _Compiler(_expect_object(tree.get("$defs", {})))
        for part in compiler.parts.values():  # also those that nothing refers to, since they have to be sound
            compiler.check(part, 1)
        return compiler.check({keyword: tree[keyword] for keyword in tree if keyword != "$defs"}, 0)
    except _UnknownError:
        return None


class _UnknownError(Exception):
    """The schema has a keyword or value that this module does not know."""


def _require_known(known: bool) -> None:
    if not known:
        raise _UnknownError


def _expect_object(value: Json) -> Tree:
    _require_known(isinstance(value, dict))
    return cast("Tree", value)


def _expect_list(value: Json) -> list[Json]:
    _require_known(isinstance(value, list))
    return cast("list[Json]", value)


def _expect_names(value: Json) -> list[str]:
    names = _expect_list(value)
    _require_known(all(isinstance(name, str) for name in names) and len({*map(str, names)}) == len(names))
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
            return _accept_all if schema else _reject_all
        _require_known(level <= MAX_LEVELS)
        said, checks = _expect_object(schema), list[Check]()
        for keyword, value in said.items():
            if keyword in _ANNOTATIONS:
                _require_known(isinstance(value, _ANNOTATIONS[keyword]))
            elif keyword in _ALONE:
                checks.append(_ALONE[keyword](value))
            elif keyword not in _OF_OBJECTS:
                checks.append(self._check_of_keyword(keyword, value, level + 1))
        if not _OF_OBJECTS.isdisjoint(said):
            named = {
                name: self.check(each, level + 1)
                for name, each in _expect_object(said.get("properties", {})).items()
            }
            other = self.check(said.get("additionalProperties", True), level + 1)
            checks.append(_check_members(named, other, _expect_names(said.get("required", []))))
        return _check_all(checks)

    def _check_of_keyword(self, keyword: str, value: Json, level: int) -> Check:
        """The check of a keyword that holds schemas."""
        match keyword:
            case "items":
                item = self.check(value, level)
                return lambda value: not isinstance(value, list) or all(map(item, value))
            case "allOf" | "anyOf":
                _require_known(bool(_expect_list(value)))
                checks = [self.check(each, level) for each in _expect_list(value)]
                return _check_all(checks) if keyword == "allOf" else _check_any(checks)
            case "$ref":
                return self._check_of_reference(value, level)
            case _:
                raise _UnknownError

    def _check_of_reference(self, reference: Json, level: int) -> Check:
        """What a reference leads to; one that leads back to itself ends at the deepest level."""
        found = _PART.fullmatch(reference) if isinstance(reference, str) else None
        if not found or found[1] not in self.parts:
            raise _UnknownError
        at = found[1], level
        if at not in self.made:
            self.made[at] = self.check(self.parts[found[1]], level)
        return self.made[at]


def _accept_all(_: Json) -> bool:
    return True


def _reject_all(_: Json) -> bool:
    return False


def _check_all(checks: Sequence[Check]) -> Check:
    return lambda value: all(check(value) for check in checks)


def _check_any(checks: Sequence[Check]) -> Check:
    return lambda value: any(check(value) for check in checks)


def _check_members(named: Mapping[str, Check], other: Check, required: Sequence[str]) -> Check:
    needed = frozenset(required)

    def members(value: Json) -> bool:
        if not isinstance(value, dict):
            return True
        for name, member in value.items():
            if not named.get(name, other)(member):
                return False
        return needed <= value.keys()

    return members


def _check_type(kinds: Json) -> Check:
    named = [kinds] if isinstance(kinds, str) else _expect_names(kinds)
    _require_known(bool(named) and _CLASSES.keys() >= {*named})
    classes = frozenset(each for kind in named for each in _CLASSES[kind])
    if "integer" not in named:
        return lambda value: type(value) in classes
    # 3.0 is an integer to JSON Schema; True, an int to Python, is none.
    return lambda value: type(value) in classes or (isinstance(value, float) and value.is_integer())


def _check_enum(choices: Json) -> Check:
    _require_known(_SCALARS.issuperset(map(type, _expect_list(choices))))
    known = frozenset(
        (type(choice) is bool, choice) for choice in _expect_list(choices)
    )  # to Python, True is 1
    return lambda value: type(value) in _SCALARS and (type(value) is bool, value) in known


def _check_pattern(pattern: Json) -> Check:
    _require_known(isinstance(pattern, str))
    try:
        search = python_pattern(cast("str", pattern)).search
    except ConfigError:
        raise _UnknownError from None
    return lambda value: not isinstance(value, str) or search(value) is not None


def _check_size(kind: type[Sized], holds: Callable[[int, int], bool], bound: Json) -> Check:
    if type(bound) is not int or bound < 0:
        raise _UnknownError
    return lambda value: not isinstance(value, kind) or holds(len(value), bound)


def _check_number(holds: Callable[[float, float], bool], bound: Json) -> Check:
    if isinstance(bound, bool) or not isinstance(bound, int | float):
        raise _UnknownError
    return lambda value: isinstance(value, bool) or not isinstance(value, int | float) or holds(value, bound)


def _check_draft(draft: Json) -> Check:
    _require_known(draft == _DRAFT)
    return _accept_all


_ALONE: Final[Mapping[str, Callable[[Any], Check]]] = {
    "$schema": _check_draft,
    "type": _check_type,
    "enum": _check_enum,
    "const": lambda only: _check_enum([only]),
    "pattern": _check_pattern,
    "minLength": partial(_check_size, str, ge),
    "maxLength": partial(_check_size, str, le),
    "minItems": partial(_check_size, list, ge),
    "maxItems": partial(_check_size, list, le),
    "minProperties": partial(_check_size, dict, ge),
    "maxProperties": partial(_check_size, dict, le),
    "minimum": partial(_check_number, ge),
    "maximum": partial(_check_number, le),
    "exclusiveMinimum": partial(_check_number, gt),
    "exclusiveMaximum": partial(_check_number, lt),
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
