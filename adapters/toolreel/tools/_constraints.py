"""Metadata of ``Annotated``: descriptions, bounds, lengths and patterns.

``annotated_types`` and pydantic's ``Field`` are recognized by their attributes, so neither is a dependency.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from toolreel.tools._values import InvalidValue, JsonType
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json

_BOUNDS: Final[Mapping[str, tuple[str, str, Callable[[Any, Any], bool]]]] = {
    "gt": ("exclusiveMinimum", "more than", operator.gt),
    "ge": ("minimum", "at least", operator.ge),
    "lt": ("exclusiveMaximum", "less than", operator.lt),
    "le": ("maximum", "at most", operator.le),
}
_LENGTHS: Final[Mapping[str, tuple[str, Callable[[int, int], bool]]]] = {
    "min_length": ("at least", operator.ge),
    "max_length": ("at most", operator.le),
}
_LENGTH_KEYWORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "string": {"min_length": "minLength", "max_length": "maxLength"},
    "array": {"min_length": "minItems", "max_length": "maxItems"},
    "object": {"min_length": "minProperties", "max_length": "maxProperties"},
}
_NUMBERS: Final = {"integer", "number"}

_Check = Callable[[Any], "str | None"]


def constrained(kind: JsonType, extras: Sequence[object], place: str) -> JsonType:
    """The type with the constraints of ``Annotated``; unknown metadata is ignored.

    :raises ConfigError: if a constraint is invalid
    """
    schema, checks = dict(kind.schema), list[_Check]()
    for extra in _flat_constraints(extras):
        keywords, more_checks = _keywords_and_checks(extra, _json_types(kind.schema), place)
        schema.update(keywords)
        checks += more_checks
    if not checks:
        return JsonType(schema, kind.read)

    def read(value: Json) -> object:
        result = kind.read(value)
        for check in checks if result is not None else ():
            if complaint := check(result):
                raise InvalidValue.of(value, complaint)
        return result

    return JsonType(schema, read)


def is_field(value: object) -> bool:
    """Whether a value is a pydantic ``Field``."""
    return isinstance(getattr(value, "metadata", None), list) and hasattr(value, "is_required")


def description_in(extras: Sequence[object]) -> str:
    """The description in ``Annotated``: a string, ``Field(description=…)`` or ``Doc(…)``."""
    for extra in extras:
        name = "description" if is_field(extra) else "documentation"
        found = extra if isinstance(extra, str) else getattr(extra, name, None)
        if isinstance(found, str) and found:
            return found
    return ""


def _flat_constraints(extras: Sequence[object]) -> Iterator[object]:
    """Single constraints; a pydantic ``Field`` has several."""
    for extra in extras:
        if is_field(extra):
            yield from cast("Any", extra).metadata
        else:
            yield extra


def _json_types(schema: Mapping[str, Json]) -> set[str]:
    """The JSON types in a schema's ``type`` and ``anyOf``."""
    types = schema.get("type", [])
    kinds = {types} if isinstance(types, str) else {str(kind) for kind in cast("list[Json]", types)}
    for choice in cast("Sequence[Mapping[str, Json]]", schema.get("anyOf", ())):
        kinds |= _json_types(choice)
    return kinds


def _keywords_and_checks(extra: object, kinds: set[str], place: str) -> tuple[dict[str, Json], list[_Check]]:
    keywords: dict[str, Json] = {}
    checks: list[_Check] = []
    for name, (key, words, holds) in _BOUNDS.items():
        if (bound := _value_of_constraint(extra, name)) is not None:
            checks.append(_bound_check(bound, words, holds))
            # A bound on a date or a decimal has no JSON Schema keyword; it is only checked.
            keywords |= {key: bound} if _is_number(bound) and kinds & _NUMBERS else {}
    if (step := _value_of_constraint(extra, "multiple_of")) is not None:
        checks.append(lambda value: None if value % step == 0 else f"a multiple of {step}")
        keywords |= {"multipleOf": step} if _is_number(step) else {}
    for name, (words, enough) in _LENGTHS.items():
        # type() is int: an object can have a method or a bool of this name.
        if type(length := _value_of_constraint(extra, name)) is int and (length or name != "min_length"):
            checks.append(_length_check(length, words, enough))
            keywords |= {keys[name]: length for kind, keys in _LENGTH_KEYWORDS.items() if kind in kinds}
    if (pattern := _pattern_of_constraint(extra, place)) is not None:
        checks.append(lambda value: None if pattern.search(value) else f"a match of {pattern.pattern}")
        keywords["pattern"] = pattern.pattern
    if callable(holding := getattr(extra, "func", None)) and type(extra).__name__ == "Predicate":
        checks.append(lambda value: None if holding(value) else f"what {holding!r} accepts")
    return keywords, checks


def _value_of_constraint(extra: object, name: str) -> Any:  # noqa: ANN401 - whatever the constraint holds
    return None if isinstance(extra, str) else getattr(extra, name, None)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _bound_check(bound: object, words: str, holds: Callable[[Any, Any], bool]) -> _Check:
    return lambda value: None if holds(value, bound) else f"{words} {bound}"


def _length_check(length: int, words: str, enough: Callable[[int, int], bool]) -> _Check:
    return lambda value: None if enough(len(value), length) else f"{words} {length} of them"


def _pattern_of_constraint(extra: object, place: str) -> re.Pattern[str] | None:
    pattern = _value_of_constraint(extra, "pattern")
    if pattern is None:
        return None
    try:
        return re.compile(pattern)
    except (re.error, TypeError) as error:
        raise ConfigError(f"{place}: the pattern {pattern!r} cannot be used: {error}") from None
