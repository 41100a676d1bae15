"""Calls in function notation: Python's ``[ping(), add(a=1, b="x")]`` and Gemma's ``call:add{a:1}``.

Nothing is evaluated, and only literals are arguments. They are read by the JSON reader with its repairs
instead of Python's parser, because models write JSON's literals, raw line breaks in strings, keywords that
Python reserves (``from=``), and numbers with a leading zero.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from toolreel_core._jsontext import BLANK, Bare, Flaw, Json, Style, as_tree, members_at, skip
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._text_calls.decoder_interface import Broken, Calls, Reading, Source, TextCall, found
from toolreel_core._text_calls.payloads import (
    Block,
    decoded,
    enveloped,
    failed_call,
    skip_blanks,
    tail,
    typed,
    whole,
)

# Bounded lengths: a long text of letters is not searched again from each of them. A hyphen is no Python,
# but many tool names have one.
_CALLEE: Final = lazy_pattern(r"(?P<name>[^\W\d][\w-]{0,100}(?:\.[\w-]{1,100}){0,8})\(")
_KEYWORDS: Final = Style(colons="=")
# Llama 3.1 calls its built-in tools (brave_search, wolfram_alpha) by a method, with semicolons between.
_BUILTIN: Final = lazy_pattern(r"\s*(?:;\s*)?(?P<name>[^\W\d]\w{0,100})\.call\(")


@dataclass(frozen=True, slots=True)
class Expression:
    """Consecutive calls, and their end."""

    calls: tuple[TextCall, ...]
    end: int
    flaw: Flaw | None = None
    """The error in the call after them."""


def expressions(source: Source, at: int, dialect: str) -> Expression | Flaw:
    """The calls that begin here: a list, or one per line."""
    at = skip(source, at)
    listed = source.text.startswith("[", at)
    at = skip(source, at + 1 if listed else at)
    calls: list[TextCall] = []
    end = at
    while _CALLEE.match(source.text, at):
        read = expression(source, at, dialect)
        if isinstance(read, Flaw):
            return Expression(tuple(calls), end, read) if calls and not listed else read
        calls.extend(read.calls)
        end = read.end
        at = skip(source, end)
        if source.text.startswith((",", ";"), at):
            at = skip(source, at + 1)
        elif listed:
            break
    whole = source.text.startswith("]", at) if listed else True
    if not whole or not calls:
        return Flaw(at, unfinished=at >= len(source.text))
    return Expression(tuple(calls), at + 1 if listed else end)


def expression(source: Source, at: int, dialect: str, callee: re.Pattern[str] = _CALLEE) -> Expression | Flaw:
    """The one call that begins exactly here."""
    head = callee.match(source.text, at)
    if head is None:
        return Flaw(at, unfinished=at >= len(source.text))
    given = members_at(source, head.end(), ")", _KEYWORDS)
    if isinstance(given, Flaw):
        return given
    call = found(source.offered.named(head["name"]), as_tree(given.tree), dialect)
    return Expression((call,), given.end) if call else Flaw(at, unfinished=False)


def python_block(block: Block, source: Source, start: int, end: int) -> Reading:
    """The calls between tokens; some models write JSON envelopes instead."""
    at = skip_blanks(source.text, end)
    if source.text.startswith(("{", "[{"), at):
        return enveloped(block, source, start, at)
    if not _CALLEE.match(source.text, skip_blanks(source.text, at + source.text.startswith("[", at))):
        return None
    return _calls_of_expressions(source, at, expressions(source, at, source.prefer(*block.dialects)), block)


def llama(block: Block, source: Source, start: int, end: int) -> Reading:
    """Llama's ``<|python_tag|>``: envelopes, or built-in tools such as ``brave_search.call(query="x")``.

    Semicolons may stand between the latter; other code is no call.
    """
    at = skip_blanks(source.text, end)
    if source.text.startswith(("{", "["), at):
        return enveloped(block, source, start, at)
    read = Expression((), at)
    while read.flaw is None and _BUILTIN.match(source.text, read.end):
        one = expression(source, read.end, block.dialects[0], _BUILTIN)
        if isinstance(one, Flaw):
            read = replace(read, flaw=one)
        else:
            read = Expression((*read.calls, *one.calls), one.end)
    if not read.calls:
        return failed_call(source, at, read.flaw, block) if read.flaw else None
    return _calls_of_expressions(source, at, read, block)


def _calls_of_expressions(source: Source, begin: int, read: Expression | Flaw, block: Block) -> Reading:
    if isinstance(read, Flaw):
        return failed_call(source, begin, read, block)
    if read.flaw is None:
        return Calls(read.calls, tail(source, read.end, block))
    last = failed_call(source, read.end, read.flaw, block)
    return Calls(read.calls, last.end, (last.why,))


# `call` or its colon may be missing, and Gemma 4 sometimes writes parentheses.
_HEAD: Final = lazy_pattern(
    rf"[{BLANK}]*+(?:call\b[ ]*+)?(?::[ ]*+)?(?P<name>[\w.:-]{{1,200}}+)[{BLANK}]*+(?P<opener>[{{(])"
)


def gemma(quote: str, block: Block, source: Source, _start: int, at: int) -> Reading:
    """Gemma's call, with tokens as quotes: ``<escape>`` of FunctionGemma, ``<|"|>`` of Gemma 4."""
    head = _HEAD.match(source.text, at)
    if head is None:
        return None
    style = Style(quote=quote, colons=":=", words=True, closing=block.closing)
    given = members_at(source, head.end(), "}" if head["opener"] == "{" else ")", style)
    if isinstance(given, Flaw):
        return failed_call(source, at, given, block)
    name = source.offered.named(head["name"])
    members = as_tree(given.tree).items()
    values = {key: _typed_value(item, source.offered.parameter(name, key)) for key, item in members}
    call = found(name, values, block.dialects[0])
    end = tail(source, given.end, block)
    return whole(source, Calls((call,), end) if call else Broken("malformed", end), _closing_tags(block))


@cache
def _closing_tags(block: Block) -> re.Pattern[str]:
    return re.compile(f"(?P<opens>{block.opening.pattern})|{block.closing.pattern}", re.IGNORECASE)


def _typed_value(item: Json, schema: Json) -> Json:
    """A value; unquoted text gets its type from the schema, or else from its form."""
    match item:
        case Bare():
            return typed(str(item), schema) if schema is not None else decoded(str(item))
        case Mapping():
            return {key: _typed_value(inner, None) for key, inner in item.items()}
        case Sequence() if not isinstance(item, str):
            return [_typed_value(inner, None) for inner in item]
        case _:
            return item
