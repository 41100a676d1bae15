"""Walk a JSON Schema, and inline its references."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from toolreel_core._jsontext import Json, Tree, as_tree, canonical, items_of, tree_at
from toolreel_core._lazy_pattern import lazy_pattern

# Walk a JSON Schema: its subschemas, as opposed to its plain values, and its references.
#
# A property may be called ``$ref`` and a default may look like a schema: what a keyword means depends on its
# position, so every change of a schema walks it with these functions. Only references into the schema itself
# are followed, such as ``#/$defs/Node`` and ``#``.


_SCHEMA: Final = frozenset(
    {
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
"""Keywords whose value is a schema."""
_SCHEMAS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
"""Keywords whose value is a list of schemas."""
_BY_NAME: Final = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
"""Keywords whose value has a schema for each name."""


def changed_within(schema: Tree, change: Callable[[Json], Json]) -> dict[str, Json]:
    """The schema with ``change`` applied to each direct subschema, in the same order.

    >>> changed_within({"items": 1, "default": {"items": 1}}, str)
    {'items': '1', 'default': {'items': 1}}
    """
    return {keyword: _change_keyword(keyword, value, change) for keyword, value in schema.items()}


def subschemas(schema: Tree) -> Iterator[Json]:
    """The direct subschemas of a schema, in order.

    >>> list(subschemas({"items": {}, "anyOf": [True], "properties": {"not": False}, "const": {}}))
    [{}, True, False]
    """
    for keyword, value in schema.items():
        if keyword in _SCHEMA:
            yield value
        elif keyword in _SCHEMAS and isinstance(value, Sequence) and not isinstance(value, str):
            yield from value
        elif keyword in _BY_NAME and isinstance(value, Mapping):
            yield from value.values()


def _change_keyword(keyword: str, value: Json, change: Callable[[Json], Json]) -> Json:
    if keyword in _SCHEMA:
        return change(value)
    if keyword in _SCHEMAS and isinstance(value, Sequence) and not isinstance(value, str):
        return [change(item) for item in value]
    if keyword in _BY_NAME and isinstance(value, Mapping):
        return {name: change(item) for name, item in value.items()}
    return value


Place: TypeAlias = tuple[str, ...]
"""The steps of a JSON pointer, from the root of the schema."""

_ESCAPED: Final = lazy_pattern(r"(?:%[0-9A-Fa-f]{2})+")
"""Percent-encoded bytes of a reference; one character may take several."""


@dataclass(frozen=True, slots=True)
class References:
    """The references of one schema."""

    root: Tree
    _known: dict[Place, tuple[Place, ...]] = field(default_factory=dict, repr=False, compare=False)
    """What each place was found to refer to."""

    def target(self, schema: Tree) -> Place | None:
        """The target of a schema's ``$ref``, if it is a schema in the same document; else ``None``."""
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            return None
        place = tuple(_pointer_step(part) for part in reference.split("/")[1:])
        return place if isinstance(self.at(place), Mapping | bool) else None

    def at(self, place: Place) -> Json:
        """The value at a place; null if there is none."""
        value: Json = self.root
        for step in place:
            if isinstance(value, Mapping):
                value = value.get(step)
            elif isinstance(value, Sequence) and not isinstance(value, str):
                is_number = step.isascii() and step.isdecimal() and len(step) < 10
                value = value[int(step)] if is_number and int(step) < len(value) else None
            else:
                return None
        return value

    def within(self, schema: Json) -> tuple[Place, ...]:
        """The targets of all references in a schema."""
        places = (self.target(part) for part in schemas_in(schema))
        return tuple(dict.fromkeys(place for place in places if place is not None))

    def reached(self, starts: Sequence[Place]) -> tuple[Place, ...]:
        """The given places and all places reachable from them by references."""
        seen: dict[Place, None] = {}
        pending = [*starts]
        while pending:
            place = pending.pop()
            if place not in seen:
                seen[place] = None
                pending += self._references_from(place)
        return tuple(seen)

    def is_endless(self, place: Place) -> bool:
        """Whether the schema at a place is recursive, directly or through others."""
        return place in self.reached(self._references_from(place))

    def _references_from(self, place: Place) -> tuple[Place, ...]:
        if place not in self._known:
            self._known[place] = self.within(self.at(place))
        return self._known[place]


def schemas_in(schema: Json) -> Iterator[Tree]:
    """A schema and all schemas inside it, at any depth.

    >>> [part["type"] for part in schemas_in({"type": "array", "items": {"type": "string"}})]
    ['array', 'string']
    """
    pending = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, Mapping):
            yield part
            pending += subschemas(part)


def _pointer_step(part: str) -> str:
    """One step of a pointer, without its two layers of escapes."""
    plain = _ESCAPED.sub(
        lambda escapes: bytes.fromhex(escapes[0].replace("%", "")).decode("utf-8", "replace"), part
    )
    return plain.replace("~1", "/").replace("~0", "~")


# Inline references: replace each ``$ref`` of a schema by its target.
#
# Some providers reject ``$ref`` and ``$defs``, and some models write text where a reference describes an
# object (GLM, pydantic-ai#10243). A recursive definition cannot be inlined: references to it stay, with the
# definitions that they need, or are cut where they recur.


Endless: TypeAlias = Literal["keep", "cut"]
"""Treatment of recursive definitions: keep references to them, or cut them to a bare type."""

_MOST_BYTES: Final = 200_000
_MOST_PLACES: Final = 1_000
_DEEPEST: Final = 64

_HOLDERS: Final = ("$defs", "definitions")
_NOTES: Final = frozenset(
    {"$comment", "default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"}
)
"""Annotations: keywords that reject no value."""


class _LeftAsItIs(Exception):
    """The schema is too large or too deep to inline."""


def inline_defs(schema: Tree) -> Tree:
    """A schema with its references inlined; references to recursive definitions stay.

    >>> inline_defs({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}}})
    {'properties': {'a': {'type': 'string'}}}

    A schema stays unchanged if the result exceeds 200 kB or 64 levels, or if a part of it has an ``$id``,
    which changes what references inside it mean.
    """
    return inlined(schema, endless="keep")


def inlined(schema: Tree, *, endless: Endless) -> Tree:
    """Like :func:`inline_defs`, with a choice of how to treat recursive definitions.

    >>> node = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    >>> inlined(node, endless="cut")
    {'type': 'object', 'properties': {'next': {'type': 'object'}}}
    """
    references = References(schema)
    places = references.within(schema)
    has_inner_id = any("$id" in part for part in schemas_in(schema) if part is not schema)
    if len(places) > _MOST_PLACES or has_inner_id:
        return schema
    kept = {place for place in places if endless == "keep" and references.is_endless(place)}
    start = schema if endless == "keep" else _without_definitions(schema)
    try:
        tree = as_tree(_Writing(references, frozenset(kept)).written(start, ((),)))
    except _LeftAsItIs:
        return schema
    return _with_needed_definitions(tree)


@dataclass(frozen=True, slots=True)
class _Writing:
    """One schema on its way to be without references."""

    references: References
    kept: frozenset[Place]
    """Places to which references stay."""
    totals: list[int] = field(default_factory=lambda: [0])
    """Bytes that have been written in the place of references, after each."""
    sizes: dict[Place, int] = field(default_factory=dict)
    """Bytes of what stands at a place."""

    def written(self, schema: Json, above: tuple[Place, ...], depth: int = 0) -> Json:
        """A schema without references."""
        if not isinstance(schema, Mapping):
            return schema
        if depth > _DEEPEST:
            raise _LeftAsItIs
        place = self.references.target(schema)
        if place is None or place in self.kept:
            return changed_within(schema, lambda part: self.written(part, above, depth + 1))
        target = self.references.at(place)
        beside = {keyword: value for keyword, value in schema.items() if keyword != "$ref"}
        said = changed_within(beside, lambda part: self.written(part, above, depth + 1))
        if place in above:
            return {**_schema_at_recursion(target), **said}
        self._count_node(place)
        return _merge_siblings(self.written(target, (*above, place), depth + 1), said)

    def _count_node(self, place: Place) -> None:
        if place not in self.sizes:
            self.sizes[place] = len(canonical(self.references.at(place)))
        self.totals.append(self.totals[-1] + self.sizes[place])
        if self.totals[-1] > _MOST_BYTES:
            raise _LeftAsItIs


def _merge_siblings(target: Json, said: dict[str, Json]) -> Json:
    """The target of a reference, combined with the keywords next to it, which apply too."""
    if isinstance(target, Mapping) and said.keys() <= {*_NOTES, *_HOLDERS}:
        return {**_without_definitions(target), **said}
    if not said:
        return target
    return {**said, "allOf": [*items_of(said, "allOf"), target]}


def _schema_at_recursion(target: Json) -> dict[str, Json]:
    """The rest of a definition where it would recur."""
    tree = as_tree(target)
    kind = tree.get("type")
    notes = {key: tree[key] for key in ("title", "description") if key in tree}
    return {"type": kind if isinstance(kind, str) else "object", **notes}


def _without_definitions(schema: Tree) -> dict[str, Json]:
    """A schema without the definitions that it brings along."""
    return {keyword: value for keyword, value in schema.items() if keyword not in _HOLDERS}


def _with_needed_definitions(schema: Tree) -> Tree:
    """The schema without definitions that nothing refers to, unless it is not known what does."""
    references = References(schema)
    for part in schemas_in(schema):
        # It may refer to something by other means than a pointer into the schema.
        if "$dynamicRef" in part or ("$ref" in part and references.target(part) is None):
            return schema
    needed = {place[:2] for place in references.reached(references.within(_without_definitions(schema)))}
    held = {
        holder: {
            name: part
            for name, part in tree_at(schema, holder).items()
            if (holder, name) in needed or (holder,) in needed
        }
        for holder in _HOLDERS
    }
    return {key: held.get(key, value) for key, value in schema.items() if held.get(key, True)}
