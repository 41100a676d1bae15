"""Markup whose tags are tokens: Kimi K3's ``<|open|>call tool="f"<|sep|>``, and MiniMax M3's elements."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from toolreel_core._jsontext import Json, as_tree, end_of, tree_at
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._text_calls.decoder_interface import (
    MAX_DEPTH,
    Broken,
    Calls,
    Frame,
    Reading,
    Source,
    found,
)
from toolreel_core._text_calls.parameters import (
    Pair,
    Tags,
    confused,
    end_call,
    one_line_break_less,
    read_pairs,
    typed,
)
from toolreel_core._text_calls.payloads import Block, arguments, closers, decoded, skip_blanks

_ATTRIBUTE: Final = lazy_pattern(r'(?P<key>\w{1,40})="(?P<value>[^"]{0,200})"')
"""An attribute in the token that opens an element."""
_OPEN: Final = r"<\|open\|>{}(?P<attributes>[^<>]{{0,400}})<\|sep\|>"
_CALL: Final = lazy_pattern(_OPEN.format("call"))
"""The opener of a call."""
_ARGUMENT: Final = lazy_pattern(_OPEN.format("argument"))
"""The opener of one argument."""
_JSON: Final = lazy_pattern(_OPEN.format("json"))
"""The opener of all arguments as one object."""
_JSON_BODY: Final = Block(("kimi_k3_xtml",), _CALL, closers(r"<\|close\|>json<\|sep\|>"))
_ARGUMENT_END: Final = "<|close|>argument<|sep|>"
_CALL_END: Final = "<|close|>call<|sep|>"
_CLOSED: Final = lazy_pattern(rf"(?:\s*{re.escape(_CALL_END)})*")
"""Closers that are left behind a call, since some replies repeat them."""
_VALUE_END: Final = lazy_pattern(re.escape(_ARGUMENT_END))
_TOKEN: Final = lazy_pattern(r"<\|(?:open|close|sep)\|>")
"""A token within a value: the value's own closer was lost."""
_TAGS: Final = lazy_pattern(
    r"(?P<opens><\|open\|>call\b)|<\|(?:open|close)\|>(?:argument|call|json)|argument<\|sep\|>"
)
"""What is left behind a call that was cut."""
_MARKUP: Final = Tags(
    _CALL,
    lazy_pattern(re.escape(_CALL_END)),
    _TOKEN,
    _VALUE_END,
    _ARGUMENT,
    lambda following: _attributes(following["attributes"]).get("key", ""),
    _TAGS,
)
_ENTITIES: Final = (("&quot;", '"'), ("&lt;", "<"), ("&gt;", ">"), ("&apos;", "'"), ("&amp;", "&"))


def xtml_call(source: Source, start: int, _end: int) -> Reading:
    """One call, with its arguments one by one or as one object; only attributes are escaped."""
    opening = _CALL.match(source.text, start)
    attributes = _attributes(opening["attributes"]) if opening else {}
    if opening is None or "tool" not in attributes:
        return None
    name = source.offered.named(attributes["tool"])
    at = skip_blanks(source.text, opening.end())
    if body := _JSON.match(source.text, at):
        return arguments(source, body.end(), name, _JSON_BODY)
    read = read_pairs(source, at, _MARKUP, lambda at, _: _read_argument(source, at, name))
    if isinstance(read, Broken):
        return read
    given, at = read
    closed = source.text.startswith(_CALL_END, at)
    if not (closed or given or source.cut):
        return None
    end = end_of(_CLOSED, source.text, at) if closed else -1
    return end_call(source, at, name, given, "kimi_k3_xtml", closed=end, last=True, tags=_MARKUP)


def _read_argument(source: Source, at: int, name: str) -> Pair | Broken | None:
    """The argument that begins here, if one does."""
    opening = _ARGUMENT.match(source.text, at)
    if opening is None:
        return None
    end = source.find(_ARGUMENT_END, opening.end())
    if end < 0:
        return Broken("truncated", len(source.text))
    about = _attributes(opening["attributes"])
    key, text = about.get("key", ""), source.text[opening.end() : end]
    if _TOKEN.search(text):
        return confused(source, opening.end(), _MARKUP)
    match about.get("type", ""):
        case "string":
            value: Json = text
        case "":
            value = typed(text, source.offered.parameter(name, key))
        case _:
            value = decoded(text)
    return key, value, skip_blanks(source.text, end + len(_ARGUMENT_END)), True


def xtml_channel(source: Source, start: int, end: int) -> Reading:
    """A part of a message: ``response`` is text, ``think`` is reasoning."""
    name = source.text[start:end].removeprefix("<|open|>").removesuffix("<|sep|>")
    if not name.startswith("think"):
        return Frame(end)
    closing = f"<|close|>{name}<|sep|>"
    close = source.find(closing, end)
    if close < 0:
        return Frame(len(source.text), source.text[end:].strip()) if source.cut else None
    return Frame(close + len(closing), source.text[end:close].strip())


def _attributes(text: str) -> dict[str, str]:
    given: dict[str, str] = {}
    for attribute in _ATTRIBUTE.finditer(text):
        given[attribute["key"]] = attribute["value"]
        for entity, character in _ENTITIES:
            given[attribute["key"]] = given[attribute["key"]].replace(entity, character)
    return given


TAG_TOKEN: Final = r"\]<\]minimax\[>\["  # noqa: S105 - a token of text
"""The token before each tag."""

_TAG: Final = lazy_pattern(rf"{TAG_TOKEN}<(?P<close>/)?(?P<name>[^<>\s/]{{1,200}})[^<>]{{0,200}}>")
"""Any tag of MiniMax M3, opening or closing."""
_INVOKE: Final = lazy_pattern(
    rf"""{TAG_TOKEN}<invoke\s+name\s*=\s*["']?(?P<name>[^"'<>]{{1,200}})["']?\s*>"""
)
"""The opener of its calls."""


def minimax_m3(source: Source, start: int, _end: int) -> Reading:
    """One ``<invoke name="f">`` and its elements."""
    opening = _INVOKE.match(source.text, start)
    if opening is None:
        return None
    name = source.offered.named(opening["name"])
    schema: Json = {"properties": source.offered.parameters(name), "additionalProperties": False}
    inside = _element_content(source, name, opening.end(), "invoke", schema, MAX_DEPTH)
    if inside is None:
        return Broken("truncated", len(source.text))
    value, end = inside
    given = value if isinstance(value, Mapping) else {}
    blank = isinstance(value, str) and not value.strip()
    call = found(name, given, "minimax_m3_xml") if given or blank else None
    return Calls((call,), end) if call else Broken("malformed", end)


def _element_content(
    source: Source, tool: str, at: int, name: str, schema: Json, depth: int
) -> tuple[Json, int] | None:
    """The content of an element, elements or text, and its end; ``None`` if it is not closed."""
    begin = at
    members: dict[str, Json] = {}
    items: list[Json] = []
    while tag := source.search(_TAG, at):
        if (members or items or not tag["close"]) and source.text[at : tag.start()].strip():
            return None
        if tag["close"]:
            if tag["name"] != name:
                return None
            text = one_line_break_less(source.text[begin : tag.start()])
            return items or members or typed(text, schema), tag.end()
        child = tag["name"]
        meant = source.offered.meant(tool, _child_schema(schema, child))
        inner = _element_content(source, tool, tag.end(), child, meant, depth - 1) if depth else None
        if inner is None:
            return None
        value, at = inner
        if child == "item" and child not in tree_at(as_tree(schema), "properties"):
            items.append(value)
        else:
            members[child] = value
    return None


def _child_schema(schema: Json, child: str) -> Json:
    """The schema of an inner element; ``{}`` if the outer schema does not restrict it."""
    properties = tree_at(as_tree(schema), "properties")
    if child in properties or not isinstance(schema, Mapping):
        return properties.get(child)
    return schema.get("items", {}) if child == "item" else schema.get("additionalProperties", {})
