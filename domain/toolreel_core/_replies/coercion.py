"""Coerce arguments to their tool's schema: open envelopes, decode nested JSON text, drop nulls.

Some models write a nested array or object as JSON text inside a string (pi#9931, kimi-cli#2513), or
the arguments one level too deep. Approval, idempotency key and tool all see the coerced arguments, so that
what was approved is exactly what runs (coder#28044).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from toolreel_core._jsontext import (
    MAX_DEPTH,
    Json,
    JsonText,
    canonical,
    json_type,
    list_at,
    nesting_depth,
    parse,
    read_json,
    schema_types,
    value_at_json_pointer,
)
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._replies.arguments import envelope_in
from toolreel_core._replies.tool_calls import intended_tool_name
from toolreel_core._schema import refused_nulls, violating_paths

Coercion: TypeAlias = Literal["ARGUMENTS_DECODED", "ARGUMENTS_UNWRAPPED", "NULL_ARGUMENT_DROPPED"]
"""Coercions of arguments to a schema; each is also a warning code of a reply."""

_Place: TypeAlias = "tuple[str | int, ...]"
_Schema: TypeAlias = Mapping[str, Json]

# A string literal in canonical JSON whose text begins an array or object, after blanks. Most arguments have
# none, and are returned without parsing.
_STRINGIFIED = lazy_pattern(r'"(?:\\[nrt]|[ ])*+[\[{]')
_BRANCHES = ("anyOf", "oneOf", "allOf")
# Schemas that are followed for a value (references may lead back), and strings that are tried at two
# validations each: schemas and arguments come from outside.
_LIMIT = 64


class Intended(NamedTuple):
    arguments: JsonText
    codes: tuple[Coercion, ...] = ()
    doubt: str = ""
    """Why it is not certain what was meant, if so: then the call does not run."""


def coerce_arguments(
    schema: JsonText,
    arguments: JsonText,
    *,
    names: Collection[str],
    repair: bool,
    drop_nulls: bool,
    max_depth: int = MAX_DEPTH,
) -> Intended:
    """Coerce arguments: ``repair`` opens envelopes of these names, and decodes JSON in texts.

    :param names: the names of the tool, which may be in an envelope
    :param repair: open envelopes, and decode JSON text inside strings
    :param drop_nulls: drop nulls that the schema rejects and does not require
    """

    def fit(given: JsonText) -> Intended:
        # The order matters: decoding may produce a null.
        found = decode_nested_json(schema, given, max_depth=max_depth) if repair else Intended(given)
        gone = refused_nulls(schema, found.arguments) if drop_nulls else ()
        if not gone:
            return found
        tree = cast("Mapping[str, Json]", parse(found.arguments))
        kept = canonical({name: value for name, value in tree.items() if name not in gone})
        return Intended(kept, (*found.codes, "NULL_ARGUMENT_DROPPED"))

    outer = fit(arguments)
    if not repair:
        return outer
    tree = cast("Mapping[str, Json]", parse(arguments))
    envelope = envelope_in(tree)
    if envelope is None:
        return outer
    return _open_envelope(schema, tree, envelope, names, outer, fit(canonical(envelope[1])))


def decode_nested_json(schema: JsonText, arguments: JsonText, *, max_depth: int = MAX_DEPTH) -> Intended:
    """The arguments with JSON text decoded where the schema requires an array or an object.

    :param max_depth: levels of nesting that decoding may lead to
    """
    # Only if it parses to exactly that type and is valid, and never where the schema allows only a string.
    strings = len(_STRINGIFIED.findall(arguments))
    if not strings:
        return Intended(arguments)
    before, whole = parse(arguments), [parse(arguments)]
    root = cast("_Schema", parse(schema))

    def decode_at(holder: Any, key: str | int, schemas: Sequence[Json], place: _Place) -> None:  # noqa: ANN401 - a list or an object
        """Decode what one key or index holds, to which these schemas apply, and what is in it."""
        value, applied = holder[key], [*_reachable_schemas(root, schemas)]
        if isinstance(value, str):
            named = {kind for each in applied for kind in schema_types(each)} & {"array", "object"}
            candidate = read_json(value, unique_keys=True).value_or("") if named else ""
            if json_type(candidate) not in named:
                return
            holder[key] = candidate
        if isinstance(inside := holder[key], dict | list):
            for inner in inside if isinstance(inside, dict) else range(len(inside)):
                members = [_member_schema(inner, each) for each in applied]
                decode_at(inside, inner, members, (*place, inner))
        # Unless the schemas may accept the string itself, decoding can only help.
        if not isinstance(value, str) or not any(map(_may_accept_text, applied)):
            return
        candidate, holder[key] = holder[key], value
        # Else it is tried, which takes two validations.
        if strings <= _LIMIT:
            now = violating_paths(schema, whole[0])
            holder[key] = candidate
            after = violating_paths(schema, whole[0])
            # The place has to be valid now, and there may not be more violations than before.
            valid = not any(each[: len(place)] == place for each in after)
            holder[key] = candidate if valid and len(after) <= len(now) else value

    decode_at(whole, 0, [root], ())
    text = canonical(whole[0])
    if whole[0] == before or nesting_depth(text, enough=max_depth + 1) > max_depth:
        return Intended(arguments)
    # Arguments that stay invalid must at least improve; otherwise the model gets its own text back.
    broken = len(violating_paths(schema, whole[0]))
    if broken and broken >= len(violating_paths(schema, before)):
        return Intended(arguments)
    return Intended(text, ("ARGUMENTS_DECODED",))


def _open_envelope(
    schema: JsonText,
    tree: _Schema,
    envelope: tuple[str, _Schema],
    names: Collection[str],
    outer: Intended,
    inner: Intended,
) -> Intended:
    """The arguments in an envelope or the envelope itself, whichever the schema means; else a doubt."""
    # An object that is valid and has only declared keys is not an envelope. Otherwise it is opened if what
    # it holds is valid and it is not, or if what it holds is declared and it is not.
    root = cast("_Schema", parse(schema))
    applied = [*_reachable_schemas(root, [root])]
    listed = [properties for each in applied if isinstance(properties := each.get("properties"), Mapping)]
    declared = frozenset[str]().union(*listed)
    # It means other parameters too if it says so, or if it declares none.
    more = not listed or any(
        "additionalProperties" in each or "patternProperties" in each for each in applied
    )
    may_stay = not violating_paths(schema, parse(outer.arguments))
    if may_stay and tree.keys() <= declared:
        return outer
    fits = not violating_paths(schema, parse(inner.arguments))
    if not may_stay and not fits:
        return outer
    name = tree.get("name")
    if name is not None and not (isinstance(name, str) and intended_tool_name(name, names)[0] in names):
        return outer._replace(doubt=f"a whole call of {canonical(name)}")
    key, held = envelope
    meant = declared.isdisjoint(tree) and held.keys() <= declared and (bool(held) or not more)
    if fits and (not may_stay or meant):
        return Intended(inner.arguments, ("ARGUMENTS_UNWRAPPED", *inner.codes))
    return outer._replace(doubt=f"an object inside {key!r}, which the schema does not declare")


def _may_accept_text(schema: _Schema) -> bool:
    return "string" in schema_types(schema) or "enum" in schema or "const" in schema


def _reachable_schemas(root: _Schema, schemas: Sequence[Json]) -> Iterator[_Schema]:
    pending, met = [*schemas], 0
    while pending and met < _LIMIT:
        schema, met = pending.pop(), met + 1
        if not isinstance(schema, Mapping):
            continue
        yield schema
        if str(reference := schema.get("$ref")).startswith("#/"):  # others are not followed
            pending.append(value_at_json_pointer(root, str(reference)))
        for key in _BRANCHES:
            pending += list_at(schema, key)


def _member_schema(key: str | int, schema: _Schema) -> Json:
    named, others = (
        ("properties", "additionalProperties") if isinstance(key, str) else ("prefixItems", "items")
    )
    declared: Any = schema.get(named)
    try:
        return cast("Json", declared[key])
    except (LookupError, TypeError):  # not declared, or the schema is wrong
        return schema.get(others)
