"""References of a JSON Schema: their targets, and which of them are recursive.

Only pointers into the schema itself are followed, such as ``#/$defs/Node`` and ``#``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core._schema.walk import subschemas

Place: TypeAlias = tuple[str, ...]
"""The steps of a JSON pointer, from the root of the schema."""

_ESCAPED: Final = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


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
        place = tuple(_step(part) for part in reference.split("/")[1:])
        return place if isinstance(self.at(place), Mapping | bool) else None

    def at(self, place: Place) -> Json:
        """The value at a place; null if there is none."""
        value: Json = self.root
        for step in place:
            if isinstance(value, Mapping):
                value = value.get(step)
            elif isinstance(value, Sequence) and not isinstance(value, str) and _is_index(step, value):
                value = value[int(step)]
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
                pending += self._from(place)
        return tuple(seen)

    def is_endless(self, place: Place) -> bool:
        """Whether the schema at a place is recursive, directly or through others."""
        return place in self.reached(self._from(place))

    def _from(self, place: Place) -> tuple[Place, ...]:
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


def _step(part: str) -> str:
    """One step of a pointer, without its two layers of escapes."""
    plain = _ESCAPED.sub(lambda found: _decoded(found[0]), part)
    return plain.replace("~1", "/").replace("~0", "~")


def _decoded(escapes: str) -> str:
    return bytes.fromhex(escapes.replace("%", "")).decode("utf-8", "replace")


def _is_index(step: str, values: Sequence[Json]) -> bool:
    return step.isascii() and step.isdecimal() and len(step) < 10 and int(step) < len(values)
