"""Messages that are tags of offered tools as a whole: ``<ping><host>a</host></ping>``, ``<ping host="a" />``.

The reader of the bare dialect ``tool_tag_xml``, which prompts after Cline's request.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolreel_core._jsontext import Flaw, Json, value_at
from toolreel_core._text_calls.decoder_interface import Found, Source, found
from toolreel_core._text_calls.formats.elements import one_line_break_less
from toolreel_core._text_calls.json_payload import skip_blanks
from toolreel_core._text_calls.unbalanced_tags import mentions
from toolreel_core._text_calls.untyped_text import typed
from toolreel_core._text_calls.whole_message import Whole, is_paragraph

# Any name: only those of known tools and of their parameters count. `<ping/>` is a call without any.
_TAG: Final = re.compile(r"<(?P<name>[\w.-]{1,200})\s*(?P<void>/?)>")
_VOID: Final = re.compile(r"<(?P<name>[\w.-]{1,200})(?P<listed>\s[^<>]{1,4000}?)/>")
"""A tag that closes itself, with attributes."""
_FIRST: Final = re.compile(r"<(?P<name>[\w.-]{1,200})(?:\s*/?>|\s[^<>]{1,4000}/>)")
"""The first tag of a message."""
# Without entities, escapes and markup, whose meaning would be a guess.
_ATTRIBUTE: Final = re.compile(
    r"""\s+(?P<key>[\w.-]{1,200})=(?:"(?P<double>[^"&\\]*)"|'(?P<single>[^'&\\]*)')"""
)


@dataclass(frozen=True, slots=True)
class _TagCall:
    call: Found
    end: int


def tool_tags(source: Source) -> Whole | None:
    """A message of tags that name tools, as prompts after Cline's request; a paragraph may precede them."""
    tags = _FIRST.finditer(source.text)
    first = next((tag for tag in tags if tag["name"] in source.offered.names), None)
    if first is None or not is_paragraph(lead := source.text[: first.start()]):
        return None
    calls: list[Found] = []
    at = first.start()
    while at < len(source.text):
        block = _tag_call(source, at)
        if block is None:
            return None
        calls.append(block.call)
        at = skip_blanks(source.text, block.end)
    return Whole(tuple(calls), lead.strip())


def _tag_call(source: Source, at: int) -> _TagCall | None:
    tag = _TAG.match(source.text, at)
    if tag is None:
        return _void_call(source, at)
    if tag["name"] not in source.offered.names:
        return None
    name = tag["name"]
    closing = f"</{name}>"
    given: Mapping[str, Json] | None
    if tag["void"]:
        given, end = {}, tag.end()
    else:
        given, at = _tag_arguments(source, tag.end(), name)
        end = at + len(closing) if source.text.startswith(closing, at) else -1
    if given is None or end < 0 or not source.offered.satisfied(name, given):
        return None
    call = found(name, given, "tool_tag_xml")
    return _TagCall(call, end) if call else None


def _void_call(source: Source, at: int) -> _TagCall | None:
    """The call of a tag without content, whose attributes are the arguments."""
    tag = _VOID.match(source.text, at)
    given = _attributes(source, tag["name"], tag["listed"]) if tag else None
    if tag is None or given is None or tag["name"] not in source.offered.names:
        return None
    call = found(tag["name"], given, "tool_tag_xml") if source.offered.satisfied(tag["name"], given) else None
    return _TagCall(call, tag.end()) if call else None


def _attributes(source: Source, name: str, listed: str) -> Mapping[str, Json] | None:
    """Declared parameters as attributes; ``None`` if anything else is there."""
    given: dict[str, Json] = {}
    at = 0
    while attribute := _ATTRIBUTE.match(listed, at):
        key = attribute["key"]
        if key in given or key not in source.offered.parameters(name):
            return None
        text = attribute["double"] if attribute["double"] is not None else attribute["single"]
        given[key] = typed(text, source.offered.parameter(name, key))
        at = attribute.end()
    return given if not listed[at:].strip() else None


def _tag_arguments(source: Source, at: int, name: str) -> tuple[Mapping[str, Json] | None, int]:
    """The parameters of a tool, as tags or as one object, and their end."""
    at = skip_blanks(source.text, at)
    schemas = source.offered.parameters(name)
    if source.text.startswith("{", at):
        value = value_at(source, at)
        if isinstance(value, Flaw) or not isinstance(value.tree, Mapping):
            return None, at
        return value.tree, skip_blanks(source.text, value.end)
    given: dict[str, Json] = {}
    while (tag := _TAG.match(source.text, at)) and tag["name"] in schemas:
        end = source.find(f"</{tag['name']}>", tag.end())
        if tag["void"] or end < 0:
            return None, at
        text = one_line_break_less(source.text[tag.end() : end])
        if (again := text.find(tag[0])) >= 0 and not mentions(text[:again]):
            return None, at
        given[tag["name"]] = typed(text, source.offered.parameter(name, tag["name"]))
        at = skip_blanks(source.text, end + len(tag["name"]) + 3)
    return given, at
