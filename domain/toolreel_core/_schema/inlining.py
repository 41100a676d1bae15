"""Inline references: replace each ``$ref`` of a schema by its target.

Some providers reject ``$ref`` and ``$defs``, and some models write text where a reference describes an
object (GLM, pydantic-ai#10243). A recursive definition cannot be inlined: references to it stay, with the
definitions that they need, or are cut where they recur.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from toolreel_core._jsontext import Json, Tree, as_tree, canonical, items_of, tree_at
from toolreel_core._schema.walk import Place, References, changed_within, schemas_in

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
    start = schema if endless == "keep" else _body(schema)
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
            return {**_cut(target), **said}
        self._count(place)
        return _together(self.written(target, (*above, place), depth + 1), said)

    def _count(self, place: Place) -> None:
        if place not in self.sizes:
            self.sizes[place] = len(canonical(self.references.at(place)))
        self.totals.append(self.totals[-1] + self.sizes[place])
        if self.totals[-1] > _MOST_BYTES:
            raise _LeftAsItIs


def _together(target: Json, said: dict[str, Json]) -> Json:
    """The target of a reference, combined with the keywords next to it, which apply too."""
    if isinstance(target, Mapping) and said.keys() <= {*_NOTES, *_HOLDERS}:
        return {**_body(target), **said}
    if not said:
        return target
    return {**said, "allOf": [*items_of(said, "allOf"), target]}


def _cut(target: Json) -> dict[str, Json]:
    """The rest of a definition where it would recur."""
    tree = as_tree(target)
    kind = tree.get("type")
    notes = {key: tree[key] for key in ("title", "description") if key in tree}
    return {"type": kind if isinstance(kind, str) else "object", **notes}


def _body(schema: Tree) -> dict[str, Json]:
    """A schema without the definitions that it brings along."""
    return {keyword: value for keyword, value in schema.items() if keyword not in _HOLDERS}


def _with_needed_definitions(schema: Tree) -> Tree:
    """The schema without definitions that nothing refers to, unless it is not known what does."""
    references = References(schema)
    for part in schemas_in(schema):
        # It may refer to something by other means than a pointer into the schema.
        if "$dynamicRef" in part or ("$ref" in part and references.target(part) is None):
            return schema
    needed = {place[:2] for place in references.reached(references.within(_body(schema)))}
    held = {
        holder: {
            name: part
            for name, part in tree_at(schema, holder).items()
            if (holder, name) in needed or (holder,) in needed
        }
        for holder in _HOLDERS
    }
    return {key: held.get(key, value) for key, value in schema.items() if held.get(key, True)}
