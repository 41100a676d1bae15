"""MiniMax M3's markup: every tag has a token before it, and parameters are elements that nest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolreel_core._jsontext.canonical import Json
from toolreel_core._text_calls.decoder import MAX_DEPTH, Broken, Calls, Reading, found
from toolreel_core._text_calls.formats.elements import one_line_break_less
from toolreel_core._text_calls.source import Source
from toolreel_core._text_calls.values.untyped_text import typed

TAG_TOKEN: Final = r"\]<\]minimax\[>\["  # noqa: S105 - a token of text
"""What stands before each tag."""

_TAG: Final = re.compile(rf"{TAG_TOKEN}<(?P<close>/)?(?P<name>[^<>\s/]{{1,200}})[^<>]{{0,200}}>")
_INVOKE: Final = re.compile(rf"""{TAG_TOKEN}<invoke\s+name\s*=\s*["']?(?P<name>[^"'<>]{{1,200}})["']?\s*>""")


@dataclass(frozen=True, slots=True)
class _Node:
    """The inside of an element that was closed."""

    value: Json
    end: int


def minimax_m3(source: Source, start: int, _end: int) -> Reading:
    """One ``<invoke name="f">`` and its elements."""
    opening = _INVOKE.match(source.text, start)
    if opening is None:
        return None
    name = source.offered.named(opening["name"])
    schema: Json = {"properties": source.offered.parameters(name), "additionalProperties": False}
    inside = _Reader(source, name).inside(opening.end(), "invoke", schema, MAX_DEPTH)
    if inside is None:
        return Broken("truncated", len(source.text))
    given = inside.value if isinstance(inside.value, Mapping) else {}
    blank = isinstance(inside.value, str) and not inside.value.strip()
    call = found(name, given, "minimax_m3_xml") if given or blank else None
    return Calls((call,), inside.end) if call else Broken("malformed", inside.end)


@dataclass(frozen=True, slots=True)
class _Reader:
    source: Source
    tool: str

    def inside(self, at: int, name: str, schema: Json, depth: int) -> _Node | None:
        """What an element holds: elements, or text; ``None`` if it is not closed."""
        begin = at
        members: dict[str, Json] = {}
        items: list[Json] = []
        while tag := self.source.search(_TAG, at):
            if tag["close"]:
                if tag["name"] != name:
                    return None
                text = one_line_break_less(self.source.text[begin : tag.start()])
                return _Node(items or members or typed(text, schema), tag.end())
            child = tag["name"]
            meant = self.source.offered.meant(self.tool, _schema_of(schema, child))
            inner = self.inside(tag.end(), child, meant, depth - 1) if depth else None
            if inner is None:
                return None
            if child == "item" and child not in _properties(schema):
                items.append(inner.value)
            else:
                members[child] = inner.value
            at = inner.end
        return None


def _properties(schema: Json) -> Mapping[str, Json]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def _schema_of(schema: Json, child: str) -> Json:
    """The schema of an inner element; what a schema leaves open may be anything."""
    properties = _properties(schema)
    if child in properties or not isinstance(schema, Mapping):
        return properties.get(child)
    return schema.get("items", {}) if child == "item" else schema.get("additionalProperties", {})
