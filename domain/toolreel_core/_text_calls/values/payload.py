"""JSON payload between an opener and a closing tag: whole envelopes, or the arguments of a named call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from toolreel_core._jsontext.canonical import Json
from toolreel_core._jsontext.json_repair import BLANK, Flaw, Style, value_at
from toolreel_core._text_calls.decoder import Broken, Calls, Found, Reading, Rejection, found
from toolreel_core._text_calls.known_tools import Offered
from toolreel_core._text_calls.source import Source
from toolreel_core._text_calls.values.envelopes import arguments_of, marked_calls

Envelopes: TypeAlias = Callable[[Json, Offered, str], Iterator[Found | None]]

# Models put a code fence inside the tag, with or without `json`.
_FENCE: Final = re.compile(f"[{BLANK}]*(?:```\\w*)?[{BLANK}]*")
# Envelopes may follow each other with nothing, a comma or a semicolon (Llama) between them.
_AND: Final = re.compile(f"[{BLANK},;]*(?={{)")
# Closers too many: weak models lose count of them, above all Qwen2.5-Coder with its doubled braces.
_SURPLUS: Final = re.compile(f"(?:[{BLANK}]*[}}\\]])*")
_BLANKS: Final = re.compile(f"[{BLANK}]*")


@dataclass(frozen=True, slots=True)
class Block:
    """How the JSON of a dialect is enclosed."""

    dialects: tuple[str, ...]
    """Those that share the opener, the likeliest first."""
    opening: re.Pattern[str]
    """Where the next block begins."""
    closing: re.Pattern[str]
    """Where this one ends; it may always be missing."""
    envelopes: Envelopes = marked_calls


def closers(*tags: str) -> re.Pattern[str]:
    """A pattern of closing tags, with the end of a code fence that was opened inside before them."""
    return re.compile(f"(?:```[{BLANK}]*)?(?:{'|'.join(tags)})", re.IGNORECASE)


def enveloped(source: Source, at: int, block: Block) -> Reading:
    """The calls whose envelopes begin here, one after the other or in a list."""
    at = _after_fence(source.text, at)
    at += source.text.startswith("{{", at)  # Qwen2.5 copies the doubled braces of its chat template
    if not source.text.startswith(("{", "["), at):
        return Broken("truncated", at) if source.cut and at == len(source.text) else None
    calls: list[Found] = []
    broken: list[Rejection] = []
    begin = at
    while True:
        value = value_at(source, at, Style(closing=block.closing))
        if isinstance(value, Flaw):
            last = _flawed(source, begin, value, block)
            return Calls(tuple(calls), last.end, (*broken, last.why)) if calls else last
        read = list(block.envelopes(value.tree, source.offered, source.prefer(*block.dialects)))
        if calls and not any(read):
            break  # what follows a call and is none itself is text again
        calls.extend(call for call in read if call)
        broken.extend("malformed" for call in read if not call)
        at = begin = value.end
        following = _AND.match(source.text, at)
        if not following:
            break
        at = following.end()
    if calls:
        return Calls(tuple(calls), tail(source, begin, block), tuple(broken))
    return Broken("malformed", debris(source, begin, begin, block)) if _tried(value.tree) else None


def arguments(source: Source, at: int, name: str, block: Block, call_id: str = "") -> Reading:
    """The call of a tool that was named before, whose arguments begin here."""
    at = _after_fence(source.text, at)
    dialect = source.prefer(*block.dialects)
    if block.closing.match(source.text, at):
        call = found(name, {}, dialect, call_id)
        return Calls((call,), tail(source, at, block)) if call else None
    value = value_at(source, at, Style(closing=block.closing))
    if isinstance(value, Flaw):
        return _flawed(source, at, value, block)
    given = arguments_of(value.tree)
    call = None if given is None else found(name, given, dialect, call_id)
    if call is None:
        return Broken("malformed", debris(source, at, value.end, block))
    return Calls((call,), tail(source, value.end, block))


def tail(source: Source, at: int, block: Block) -> int:
    """Where a block ends whose JSON ends here: surplus closers and the closing tag belong to it."""
    surplus = _SURPLUS.match(source.text, at)
    at = surplus.end() if surplus else at
    close = block.closing.match(source.text, skip_blanks(source.text, at))
    return close.end() if close else at


def debris(source: Source, begin: int, at: int, block: Block) -> int:
    """Where a block ends that went wrong at some place: before the sibling that follows it."""
    early = source.search(block.closing, begin)
    if (
        early
        and early.start() < at
        and block.opening.match(source.text, skip_blanks(source.text, early.end()))
    ):
        return early.end()
    close = source.search(block.closing, at)
    sibling = source.search(block.opening, at)
    if close and (not sibling or close.start() < sibling.start()):
        return close.end()
    return sibling.start() if sibling else len(source.text)


def skip_blanks(text: str, at: int) -> int:
    """Where the white space that stands here ends."""
    blanks = _BLANKS.match(text, at)
    return blanks.end() if blanks else at


def _after_fence(text: str, at: int) -> int:
    fence = _FENCE.match(text, at)
    return fence.end() if fence else at


def _flawed(source: Source, begin: int, flaw: Flaw, block: Block) -> Broken:
    """JSON that broke off was cut, unless the block was closed all the same."""
    if not flaw.unfinished:
        return Broken("malformed", debris(source, begin, flaw.at, block))
    close = None if source.cut else source.search(block.closing, begin)
    return Broken("malformed", close.end()) if close else Broken("truncated", len(source.text))


def _tried(tree: Json) -> bool:
    """Whether a value was meant to be a call: a list of plain values is not."""
    if isinstance(tree, Sequence) and not isinstance(tree, str):
        return any(isinstance(item, Mapping) for item in tree)
    return isinstance(tree, Mapping)
