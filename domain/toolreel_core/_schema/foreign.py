"""Schemas from outside, in other drafts too: the part of them that can be used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableSequence, Sequence
from typing import Any, Final, NamedTuple, cast

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, Tree, canonical, deeper, parse
from toolreel_core._schema.patterns import is_linear, python_pattern, with_python_patterns
from toolreel_core._schema.validation import MAX_LEVELS, BadReference, check_references, check_schema
from toolreel_core._schema.walk import changed_within, schemas_in

# Schemas from outside: the part that can be used, such as of a tool of an MCP server.
#
# What cannot be used is left out, so that the schema accepts more than it says, and never less.


_ROUNDS: Final = 20
"""Maximum attempts; a schema with more faults is left out as a whole."""
_DEEPEST: Final = MAX_LEVELS // 2 - 2
"""Levels of schemas that are kept; each takes at most two levels of JSON."""
_DEPENDENT: Final = {
    "properties": "additionalProperties",
    "patternProperties": "additionalProperties",
    "prefixItems": "items",
}
"""Keywords, and the one next to each that rejects more without it."""
_REJECTING: Final = ("not", "if", "maxContains", "unevaluatedItems", "unevaluatedProperties", "oneOf")
"""Keywords that reject more where another part of the schema accepts more."""
_NOTES: Final = frozenset({"$comment", "deprecated", "description", "examples", "format", "title"})
"""Keywords that reject nothing."""


def usable(schema: Tree) -> tuple[Tree, tuple[str, ...]]:
    r"""The part of a schema that can be used, and what was left out.

    >>> usable({"properties": {"a": {"type": "string", "pattern": r"\p{Emoji}"}}})[0]
    {'properties': {'a': {'type': 'string'}}}
    """
    left_out: dict[str, None] = {}
    text = canonical(schema)
    if deeper(text, MAX_LEVELS):
        left_out[f"what nests deeper than {_DEEPEST} schemas"] = None
        text = canonical(_truncate_nesting(schema, _DEEPEST))
    tree: Any = parse(text)
    loosened = bool(left_out)
    try:
        for _ in range(_ROUNDS):
            # One kind of fault at a time: references are looked up in a schema that is sound.
            found = [*_bad_patterns(tree)] or [*_bad_keywords(tree)] or [*_bad_references(tree)]
            for fault in sorted(found, key=lambda fault: fault.why):
                left_out[fault.why] = None
                loosened = loosened or fault.keyword not in _NOTES
                fault.remove()
            if not found:
                break
        for part in schemas_in(tree) if loosened else ():
            left_out |= dict.fromkeys(_loosen(part))
        check_schema(canonical(tree))
    except (ConfigError, RecursionError) as error:
        return {"type": "object"}, (f"the whole schema: {error}",)
    return tree, tuple(left_out)


class _Fault(NamedTuple):
    """A part of a schema that cannot be used."""

    why: str
    holder: Any
    """What it is in: a schema, a list of schemas, or an object of them."""
    keyword: str | int
    """Its key or index there."""
    is_schema: bool = False
    """It stands for a schema, so that any value has to be allowed instead."""

    def remove(self) -> None:
        """Remove it, and the keyword that rejects more without it."""
        if self.is_schema:
            self.holder[self.keyword] = {}
        else:
            self.holder.pop(self.keyword, None)
            self.holder.pop(_DEPENDENT.get(str(self.keyword)), None)


def _truncate_nesting(schema: Json, levels: int) -> Json:
    """The schema, with any value allowed for what nests deeper."""
    if not isinstance(schema, Mapping):
        return schema
    return changed_within(schema, lambda part: _truncate_nesting(part, levels - 1)) if levels else {}


def _bad_patterns(tree: Tree) -> Iterator[_Fault]:
    for part in schemas_in(tree):
        for keyword in ("pattern", "patternProperties"):
            value = part.get(keyword)
            for pattern in [value] if isinstance(value, str) else value if isinstance(value, Mapping) else ():
                try:
                    compiled = python_pattern(pattern)
                except ConfigError as error:
                    yield _Fault(str(error), part, keyword)
                else:
                    if not is_linear(compiled.pattern):
                        why = f"the pattern {pattern!r}, which may take very long to check"
                        yield _Fault(why, part, keyword)


def _bad_keywords(tree: Tree) -> Iterator[_Fault]:
    """Keywords with values that they cannot have."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - see validation

    for error in Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(tree):
        path = [*error.absolute_path]
        holders: list[Any] = [tree]
        for step in path:
            holders.append(holders[-1][step])
        is_schema = error.validator_value == ["object", "boolean"]
        while path and not is_schema and isinstance(holders[len(path) - 1], MutableSequence):
            path.pop()  # a list that is wrong in a part is wrong
        why = f"{error.json_path.removeprefix('$.')}: {error.message:.120}"
        yield _Fault(why, holders[len(path) - 1], path[-1], is_schema)


def _bad_references(tree: Tree) -> Iterator[_Fault]:
    try:
        check_references(cast("Tree", with_python_patterns(tree)))
    except BadReference as error:
        why, (holder, keyword) = str(error).partition(";")[0], error.place
        for part in schemas_in(tree):
            if part.get(keyword) == holder[keyword]:  # which leads nowhere from there either
                yield _Fault(why, part, keyword)


def _loosen(schema: Any) -> Iterator[str]:  # noqa: ANN401 - an object of JSON
    """Remove what rejects more where another part accepts more; ``oneOf`` becomes ``anyOf``."""
    for keyword in _REJECTING:
        if (value := schema.pop(keyword, None)) is not None:
            yield f"{keyword}, which could reject more without the rest"
            if keyword == "oneOf" and "anyOf" not in schema:
                schema["anyOf"] = value


# Translate JSON Schemas of older drafts to draft 2020-12.
#
# Generators still write draft-07, and some draft-04: a tuple is an array under ``items``, a bound is
# exclusive by a boolean. Draft 2020-12 has other keywords for both, and rejects or ignores the old ones.


_OLDER: Final = re.compile(r"https?://json-schema\.org/(draft-0[3-7]/schema|draft/2019-09/schema|schema)#?")
_TUPLE_ITEM: Final = re.compile(r"/items/(?=\d+(/|$))")
"""A reference into a tuple of ``items``, which newer drafts call ``prefixItems``."""
_BOUND: Final = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_EXCLUSIVE: Final = {bound: exclusive for exclusive, bound in _BOUND.items()}


def modern(schema: Json) -> Json:
    """The schema with the keywords of draft 2020-12; unchanged if it has no older ones.

    >>> modern({"items": [{"type": "string"}], "additionalItems": False})
    {'prefixItems': [{'type': 'string'}], 'items': False}
    """
    if not isinstance(schema, Mapping):
        return schema
    return changed_within(dict(_modern_keywords(schema)), modern)


def _modern_keywords(schema: Mapping[str, Json]) -> Sequence[tuple[str, Json]]:
    said: list[tuple[str, Json]] = []
    for keyword, value in schema.items():
        match keyword:
            case "$schema":
                older = isinstance(value, str) and _OLDER.fullmatch(value)
                said += [] if older else [(keyword, value)]
            case "$ref":
                reference = _TUPLE_ITEM.sub("/prefixItems/", value) if isinstance(value, str) else value
                said.append((keyword, reference))
            case "$recursiveRef":
                said.append(("$ref", value))
            case "items":
                said += _modern_items(schema, value)
            case "additionalItems":
                pass  # it says something only together with a tuple, which takes it along
            case "dependencies":
                said += _modern_dependencies(value)
            case "exclusiveMinimum" | "exclusiveMaximum":
                said += _modern_exclusive_bound(schema, keyword, value)
            case "minimum" | "maximum":
                said += [] if schema.get(_EXCLUSIVE[keyword]) is True else [(keyword, value)]
            case _:
                said.append((keyword, value))
    return said


def _modern_items(schema: Mapping[str, Json], value: Json) -> Sequence[tuple[str, Json]]:
    """A tuple is ``prefixItems`` now, and ``items`` is what may come after it."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return [("items", value)]
    rest = [("items", schema["additionalItems"])] if "additionalItems" in schema else []
    return [("prefixItems", value), *rest] if value else rest


def _modern_dependencies(value: Json) -> Sequence[tuple[str, Json]]:
    """One keyword was two: names that are needed, and schemas that hold."""
    if not isinstance(value, Mapping):
        return [("dependencies", value)]
    names = {key: part for key, part in value.items() if not isinstance(part, Mapping | bool)}
    schemas = {key: part for key, part in value.items() if key not in names}
    return [
        *([("dependentRequired", names)] if names else []),
        *([("dependentSchemas", schemas)] if schemas else []),
    ]


def _modern_exclusive_bound(
    schema: Mapping[str, Json], keyword: str, value: Json
) -> Sequence[tuple[str, Json]]:
    """A bound that a boolean makes exclusive is itself the exclusive one now."""
    if not isinstance(value, bool):
        return [(keyword, value)]
    bound = schema.get(_BOUND[keyword])
    return [(keyword, bound)] if value and bound is not None else []
