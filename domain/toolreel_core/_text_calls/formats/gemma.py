"""Google's small models: ``call:name{key:<escape>text<escape>,n:4}`` between tokens of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from toolreel_core._jsontext.canonical import Json
from toolreel_core._jsontext.json_repair import BLANK, Bare, Flaw, Style, members_at
from toolreel_core._text_calls.decoder import Broken, Calls, Reading, found
from toolreel_core._text_calls.source import Source
from toolreel_core._text_calls.values.payload import Block, closers, debris, tail
from toolreel_core._text_calls.values.untyped_text import decoded, typed

# `call` or its colon may be missing, and Gemma 4 sometimes writes parentheses.
_HEAD: Final = re.compile(
    rf"[{BLANK}]*(?:call\b)?[ ]*:?[ ]*(?P<name>[\w.:-]{{1,200}})[{BLANK}]*(?P<opener>[{{(])"
)
_FUNCTION_GEMMA: Final = Block(
    ("functiongemma",), re.compile("<start_function_call>"), closers("<end_function_call>")
)
_GEMMA4: Final = Block(("gemma4",), re.compile(r"<\|tool_call>"), closers(r"<tool_call\|>"))


def function_gemma(source: Source, _start: int, end: int) -> Reading:
    """FunctionGemma's call, whose strings stand between ``<escape>`` tokens."""
    return _call(source, end, _FUNCTION_GEMMA, "<escape>")


def gemma4(source: Source, _start: int, end: int) -> Reading:
    """Gemma 4's call, whose strings stand between ``<|"|>`` tokens."""
    return _call(source, end, _GEMMA4, '<|"|>')


def _call(source: Source, at: int, block: Block, quote: str) -> Reading:
    head = _HEAD.match(source.text, at)
    if head is None:
        return None
    style = Style(quote=quote, colons=":=", words=True, closing=block.closing)
    given = members_at(source, head.end(), "}" if head["opener"] == "{" else ")", style)
    if isinstance(given, Flaw):
        close = None if source.cut else source.search(block.closing, at)
        if given.unfinished and not close:
            return Broken("truncated", len(source.text))
        return Broken("malformed", debris(source, at, given.at, block))
    name = source.offered.named(head["name"])
    tree = given.tree if isinstance(given.tree, Mapping) else {}
    values = {key: _value(item, source.offered.parameter(name, key)) for key, item in tree.items()}
    call = found(name, values, block.dialects[0])
    end = tail(source, given.end, block)
    return Calls((call,), end) if call else Broken("malformed", end)


def _value(item: Json, schema: Json) -> Json:
    """A value, in which what stood without quotes is what the schema says, or else what it looks like."""
    match item:
        case Bare():
            return typed(str(item), schema) if schema is not None else decoded(str(item))
        case Mapping():
            return {key: _value(inner, None) for key, inner in item.items()}
        case Sequence() if not isinstance(item, str):
            return [_value(inner, None) for inner in item]
        case _:
            return item
