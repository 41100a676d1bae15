"""Calls in function notation: Python's ``[ping(), add(a=1, b="x")]`` and Gemma's ``call:add{a:1}``.

Nothing is evaluated, and only literals are arguments. They are read by the JSON reader with its repairs
instead of Python's parser, because models write JSON's literals, raw line breaks in strings, keywords that
Python reserves (``from=``), and numbers with a leading zero.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Final, TypeAlias

from toolreel_core._jsontext import Bare, Flaw, Json, Style, as_tree, members_at, skip
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._text_calls.decoder_interface import Reading, Source, TextCall, text_call
from toolreel_core._text_calls.payloads import (
    Block,
    decode_json,
    end_of_block,
    enveloped_calls,
    failed_call,
    one_call,
    skip_blanks,
    typed_value,
    unless_tags_left,
)

# Bounded lengths: a long text of letters is not searched again from each of them. A hyphen is no Python,
# but many tool names have one. Gemini prints the result of a call: `print(default_api.f(a=1))`.
_NAME: Final = r"(?P<name>[^\W\d][\w-]{0,100}(?:\.[\w-]{1,100}){0,8})\("
CALLEE: Final = lazy_pattern(rf"(?:print\((?={_NAME.replace('?P<name>', '?:')}))?{_NAME}")
# Llama 3.1 calls its built-in tools (brave_search, wolfram_alpha) by a method, with semicolons between.
BUILTIN: Final = lazy_pattern(r"(?P<name>[^\W\d]\w{0,100})\.call\(")
_KEYWORDS: Final = Style(colons="=")
CODE: Final = replace(_KEYWORDS, repairs=_KEYWORDS.repairs | {"hash_comments"})

Expressions: TypeAlias = tuple[tuple[TextCall, ...], int, Flaw | None]
"""Calls, their end, and the error in the one that begins there."""


def call_expressions(
    source: Source,
    at: int,
    dialect: str,
    callee: re.Pattern[str] = CALLEE,
    style: Style = _KEYWORDS,
) -> Expressions:
    """The calls that begin here: a list, or one per line."""
    at = skip(source, at, style)
    listed = source.text.startswith("[", at)
    at = skip(source, at + listed, style)
    calls: list[TextCall] = []
    while head := callee.match(source.text, at):
        given = members_at(source, head.end(), ")", style)
        whole = () if listed else tuple(calls)
        if isinstance(given, Flaw):
            return whole, at, given
        printed = head.start("name") > at
        call = text_call(source.offered.resolve_name(head["name"]), as_tree(given.tree), dialect)
        if call is None or (printed and not source.text.startswith(")", given.end)):
            return whole, at, Flaw(given.end, unfinished=False)
        calls.append(call)
        at = skip(source, given.end + printed, style)
        if source.text.startswith((",", ";"), at):
            at = skip(source, at + 1, style)
        elif listed or "\n" not in source.text[given.end : at]:
            break
    if not calls or (listed and not source.text.startswith("]", at)):
        return (), at, Flaw(at, unfinished=at >= len(source.text))
    return tuple(calls), at + listed, None


def code_block(callee: re.Pattern[str], block: Block, source: Source, start: int, end: int) -> Reading | None:
    """The calls between tokens; some models write JSON envelopes instead, and other code is no call."""
    at = skip_blanks(source.text, end)
    first = skip_blanks(source.text, at + source.text.startswith("[", at))
    if not callee.match(source.text, first):
        return enveloped_calls(block, source, start, at)
    calls, end, flaw = call_expressions(source, at, source.enabled_dialect(*block.dialects), callee)
    if flaw is None:
        return Reading(end_of_block(source, end, block), calls)
    return replace(failed_call(source, end, flaw, block), calls=calls)


# `call` or its colon may be missing, and Gemma 4 sometimes writes parentheses.
_HEAD: Final = lazy_pattern(r"\s*+(?:call\b[ ]*+)?(?::[ ]*+)?(?P<name>[\w.:-]{1,200}+)\s*+(?P<opener>[{(])")


def gemma_call(quote: str, block: Block, source: Source, _start: int, at: int) -> Reading | None:
    """Gemma's call, with tokens as quotes: ``<escape>`` of FunctionGemma, ``<|"|>`` of Gemma 4."""
    head = _HEAD.match(source.text, at)
    if head is None:
        return None
    style = Style(quote=quote, colons=":=", words=True, closing=block.closing)
    given = members_at(source, head.end(), "}" if head["opener"] == "{" else ")", style)
    if isinstance(given, Flaw):
        return failed_call(source, at, given, block)
    name = source.offered.resolve_name(head["name"])
    members = as_tree(given.tree).items()
    values = {key: _typed_value(item, source.offered.parameter(name, key)) for key, item in members}
    reading = one_call(name, values, block.dialects[0], end_of_block(source, given.end, block))
    return unless_tags_left(source, reading, _closing_tags(block))


@cache
def _closing_tags(block: Block) -> re.Pattern[str]:
    return re.compile(f"(?P<opens>{block.opening.pattern})|{block.closing.pattern}", re.IGNORECASE)


def _typed_value(item: Json, schema: Json) -> Json:
    match item:
        case Bare():
            return typed_value(str(item), schema) if schema is not None else decode_json(str(item))
        case Mapping():
            return {key: _typed_value(inner, None) for key, inner in item.items()}
        case Sequence() if not isinstance(item, str):
            return [_typed_value(inner, None) for inner in item]
        case _:
            return item
