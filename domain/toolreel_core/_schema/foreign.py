"""Schemas from outside, such as those of MCP tools: the part that can be used.

What cannot be used is left out, so that the schema accepts more than it says, and never less.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableSequence, Sequence
from typing import Any, NamedTuple, cast

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, Tree, canonical, parse
from toolreel_core._schema.patterns import is_linear_time_pattern, python_pattern, with_python_patterns
from toolreel_core._schema.validation import BadReference, check_depth, check_references, check_schema
from toolreel_core._schema.walk import map_subschemas, schemas_in

# A round mends one broken reference; a schema with more of them than rounds is left out as a whole.
_ROUNDS = 20
_DEPENDENT = {
    "properties": "additionalProperties",
    "patternProperties": "additionalProperties",
    "prefixItems": "items",
}
"""Keywords, and the one next to each that rejects more without it."""
_REJECTING = ("not", "if", "maxContains", "unevaluatedItems", "unevaluatedProperties", "oneOf")
"""Keywords that reject more where another part of the schema accepts more."""
_NOTES = frozenset({"$comment", "deprecated", "description", "examples", "format", "title"})


class _Fault(NamedTuple):
    why: str
    holder: Any
    """What it is in: a schema, a list of schemas, or an object of them."""
    keyword: str | int
    is_schema: bool = False
    """Whether a schema has to be there: ``{}``, which allows any value, then takes its place."""


def usable_schema(schema: Tree) -> tuple[Tree, tuple[str, ...]]:
    """The part of a schema that can be used, and what was left out."""
    left_out: dict[str, None] = {}
    tree: Any = parse(canonical(schema))
    loosened = False
    try:
        check_depth(canonical(schema))
        for _ in range(_ROUNDS):
            # One kind of fault at a time: references are looked up in a schema that is sound.
            found = [*_bad_patterns(tree)] or [*_bad_keywords(tree)] or [*_bad_references(tree)]
            for why, holder, keyword, is_schema in sorted(found, key=lambda fault: fault.why):
                left_out[why] = None
                loosened = loosened or keyword not in _NOTES
                if is_schema:
                    holder[keyword] = {}
                else:  # with a default, since several faults may be about one keyword
                    holder.pop(keyword, None)
                    holder.pop(_DEPENDENT.get(str(keyword)), None)
            if not found:
                break
        for part in schemas_in(tree) if loosened else ():
            left_out |= dict.fromkeys(_drop_rejecting_keywords(part))
        check_schema(canonical(tree))
    except (ConfigError, RecursionError) as error:
        return {"type": "object"}, (f"the whole schema: {error}",)
    return tree, tuple(left_out)


def _bad_patterns(tree: Tree) -> Iterator[_Fault]:
    for part in schemas_in(tree):
        for keyword in ("pattern", "patternProperties"):
            value = part.get(keyword)
            for pattern in [value] if isinstance(value, str) else value if isinstance(value, Mapping) else ():
                try:
                    if is_linear_time_pattern(python_pattern(pattern).pattern):
                        continue
                    why = f"the pattern {pattern!r}, which may take very long to check"
                except ConfigError as error:
                    why = str(error)
                yield _Fault(why, part, keyword)


def _bad_keywords(tree: Tree) -> Iterator[_Fault]:
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - see validation

    for error in Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(tree):
        path = [*error.absolute_path]
        holders: list[Any] = [tree]
        for step in path:
            holders.append(holders[-1][step])
        # The metaschema asks for these two types wherever a schema has to be, and nowhere else.
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


def _drop_rejecting_keywords(schema: Any) -> Iterator[str]:  # noqa: ANN401 - an object of JSON
    """Remove what rejects more where another part accepts more; ``oneOf`` becomes ``anyOf``."""
    for keyword in _REJECTING:
        if (value := schema.pop(keyword, None)) is not None:
            yield f"{keyword}, which could reject more without the rest"
            if keyword == "oneOf" and "anyOf" not in schema:
                schema["anyOf"] = value


# Older drafts. Generators still write draft-07, and some draft-04: a tuple is an array under ``items``, a
# bound is exclusive by a boolean. Draft 2020-12 has other keywords for both, and rejects or ignores those.


_OLDER = re.compile(r"https?://json-schema\.org/(draft-0[3-7]/schema|draft/2019-09/schema|schema)#?")
_TUPLE_ITEM = re.compile(r"/items/(?=\d+(/|$))")
"""A reference into a tuple of ``items``, which newer drafts call ``prefixItems``."""


def modernize_schema(schema: Json) -> Json:
    """The schema with the keywords of draft 2020-12; unchanged if it has no older ones."""
    if not isinstance(schema, Mapping):
        return schema
    newer = dict[str, Json]()
    for keyword, value in schema.items():
        match keyword:
            case "$schema" if isinstance(value, str) and _OLDER.fullmatch(value):
                pass
            case "$ref" if isinstance(value, str):
                newer["$ref"] = _TUPLE_ITEM.sub("/prefixItems/", value)
            case "$recursiveRef":
                newer["$ref"] = value
            case "items" if isinstance(value, Sequence) and not isinstance(value, str):
                # A tuple is ``prefixItems`` now, and ``items`` is what may come after it.
                newer |= {"prefixItems": value} if value else {}
                newer |= {"items": schema["additionalItems"]} if "additionalItems" in schema else {}
            case "additionalItems":
                pass  # it says something only together with a tuple, which takes it along
            case "dependencies" if isinstance(value, Mapping):
                schemas = {key: part for key, part in value.items() if isinstance(part, Mapping | bool)}
                names = {key: part for key, part in value.items() if key not in schemas}
                newer |= {"dependentRequired": names} if names else {}
                newer |= {"dependentSchemas": schemas} if schemas else {}
            case "exclusiveMinimum" | "exclusiveMaximum" if isinstance(value, bool):
                pass  # the bound is itself the exclusive one now
            case "minimum" | "maximum":
                exclusive = f"exclusive{keyword.capitalize()}"
                newer[exclusive if schema.get(exclusive) is True else keyword] = value
            case _:
                newer[keyword] = value
    return map_subschemas(newer, modernize_schema)
