"""``[TOOL_CALL]…[/TOOL_CALL]``: an envelope, or a map of arrows with the arguments as options of a shell.

    [TOOL_CALL]{tool => "read_file", args => {--path "notes.md"}}[/TOOL_CALL]

Nobody specified the latter, so only quoted values without a backslash, and plain numbers and words, are
certain: whether a backslash escapes is not.
"""

from __future__ import annotations

import re
from typing import Final

from toolreel_core._jsontext import Json
from toolreel_core._text_calls.decoder_interface import Broken, Calls, Reading, Source, found
from toolreel_core._text_calls.json_payload import Block, closers, debris, enveloped, skip_blanks
from toolreel_core._text_calls.untyped_text import decoded

BRACKET: Final = r"\[TOOL_CALL\](?=\s*\{)"
"""The opener, before a map."""

_BLOCK: Final = Block(
    ("lmstudio_request",), re.compile(r"\[TOOL_CALL\]", re.IGNORECASE), closers(r"\[/TOOL_CALL\]")
)
_MAP: Final = re.compile(r"\{\s*tool\s*=>")
"""A call with arrows between keys and values."""
_HEAD: Final = re.compile(r'\{\s*tool\s*=>\s*"(?P<name>[\w.:-]{1,200})"\s*,\s*args\s*=>\s*\{')
"""Its head, up to the arguments."""
_OPTION: Final = re.compile(
    r'\s*--(?P<key>[\w-]{1,200})\s+(?:"(?P<text>[^"\\]*)"|(?P<plain>-?\d{1,40}(?:\.\d{1,40})?|true|false|null))'
    r"(?=[\s},]),?"
)
"""One argument, as an option of a command line: a simple text, a number or a word."""
_END: Final = re.compile(r"\s*\}\s*\}\s*\[/TOOL_CALL\]", re.IGNORECASE)
"""The end of the map, and of the block."""


def bracketed(source: Source, _start: int, end: int) -> Reading:
    """The call between the brackets."""
    at = skip_blanks(source.text, end)
    return _arrows(source, at) if _MAP.match(source.text, at) else enveloped(source, at, _BLOCK)


def _arrows(source: Source, begin: int) -> Reading:
    head = _HEAD.match(source.text, begin)
    if head is None:
        return _broken(source, begin)
    name, at = source.offered.named(head["name"]), head.end()
    known = source.offered.parameters(name)
    given: dict[str, Json] = {}
    while option := _OPTION.match(source.text, at):
        key = option["key"]
        if key in given or key not in known:
            return _broken(source, begin)
        given[key] = option["text"] if option["text"] is not None else decoded(option["plain"])
        at = option.end()
    end = _END.match(source.text, at)
    call = found(name, given, _BLOCK.dialects[0]) if end else None
    return Calls((call,), end.end()) if call and end else _broken(source, begin)


def _broken(source: Source, begin: int) -> Broken:
    close = source.search(_BLOCK.closing, begin)
    if close is None and source.cut:
        return Broken("truncated", len(source.text))
    return Broken("malformed", debris(source, begin, begin, _BLOCK))
