"""Messages in which tools and their parameters are tags, as prompts after Cline's ask for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolreel_core._jsontext.canonical import Json
from toolreel_core._jsontext.json_repair import Flaw, value_at
from toolreel_core._text_calls.decoder import Found, found
from toolreel_core._text_calls.formats.elements import one_line_break_less
from toolreel_core._text_calls.source import Source
from toolreel_core._text_calls.values.payload import skip_blanks
from toolreel_core._text_calls.values.untyped_text import typed
from toolreel_core._text_calls.whole_message.reader import Whole, is_paragraph

# Any name: only those of known tools and of their parameters count. `<ping/>` is a call without any.
_TAG: Final = re.compile(r"<(?P<name>[\w.-]{1,200})\s*(?P<void>/?)>")


@dataclass(frozen=True, slots=True)
class _Block:
    call: Found
    end: int


def tool_tags(source: Source) -> Whole | None:
    """A message that is at most a paragraph and then nothing but tags of tools."""
    first = next((tag for tag in _TAG.finditer(source.text) if tag["name"] in source.offered.names), None)
    if first is None or not is_paragraph(lead := source.text[: first.start()]):
        return None
    calls: list[Found] = []
    at = first.start()
    while at < len(source.text):
        block = _block(source, at)
        if block is None:
            return None
        calls.append(block.call)
        at = skip_blanks(source.text, block.end)
    return Whole(tuple(calls), lead.strip())


def _block(source: Source, at: int) -> _Block | None:
    tag = _TAG.match(source.text, at)
    if tag is None or tag["name"] not in source.offered.names:
        return None
    name = tag["name"]
    closing = f"</{name}>"
    given: Mapping[str, Json] | None
    if tag["void"]:
        given, end = {}, tag.end()
    else:
        given, at = _given(source, tag.end(), name)
        end = at + len(closing) if source.text.startswith(closing, at) else -1
    if given is None or end < 0 or not source.offered.satisfied(name, given):
        return None
    call = found(name, given, "tool_tag_xml")
    return _Block(call, end) if call else None


def _given(source: Source, at: int, name: str) -> tuple[Mapping[str, Json] | None, int]:
    """The parameters of a tool, as tags or as one object, and where they end."""
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
        given[tag["name"]] = typed(text, source.offered.parameter(name, tag["name"]))
        at = skip_blanks(source.text, end + len(tag["name"]) + 3)
    return given, at
