"""Calls at the head of a message that have lost their opener, but not what follows their arguments.

Servers remove tokens that they take for their own, and small models forget or garble them. A closer directly
behind the whole arguments of an offered tool shows that they are a call, as its opener would.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from toolreel_core._jsontext import Flaw, value_at
from toolreel_core._text_calls.decoder_interface import Calls, Found, Source, found
from toolreel_core._text_calls.formats.function_notation import gemma4
from toolreel_core._text_calls.formats.tool_call_tag import closed_envelopes
from toolreel_core._text_calls.json_payload import skip_blanks
from toolreel_core._text_calls.lead_ins import lead_in

Headless: TypeAlias = Callable[[Source], "Calls | None"]

# `leton` instead of `<tool_call>`: one word, in a line of its own.
_GARBLED: Final = re.compile(r"\s*(?P<word>[a-z]{1,20})[ \t]*\n\s*(?=\{)")
_KIMI_HEAD: Final = re.compile(
    r"\s*(?P<id>(?:functions\.)?(?P<name>[\w.-]{1,200}):\d{1,4})\s*<\|tool_call_argument_begin\|>\s*"
)
"""The head of a call of Kimi K2 whose opener the server has removed."""
_KIMI_END: Final = re.compile(r"(?:\s*<\|tool_call(?:s?_section)?_end\|>)+")
"""Its closers, of the call and of the section."""
_KIMI_MARK: Final = re.compile(r"<\|tool_call_argument_begin\|>")
"""The token that is left of it."""
_GEMMA_END: Final = re.compile(r"\}<tool_call\|>\Z")
"""The end of a call of Gemma 4 whose opener the server has removed."""
_GEMMA_NAME: Final = re.compile(r"\s*(?:call:[ ]*)?(?P<name>[\w.:-]{1,200})\{")
"""The name of such a call."""


def hermes(source: Source) -> Calls | None:
    """JSON envelopes and their closing tag, possibly behind the garbled opener."""
    garbled = _GARBLED.match(source.text)
    if garbled is None:
        return closed_envelopes(source, skip_blanks(source.text, 0))
    reading = closed_envelopes(source, garbled.end()) if lead_in(garbled["word"]) == "announced" else None
    return reading if reading and all(call.name in source.offered.names for call in reading.calls) else None


def kimi(source: Source) -> Calls | None:
    """Kimi's calls by name and counter, each with the token before its arguments and a closer.

    None are read if another follows that cannot be.
    """
    calls: list[Found] = []
    at = 0
    while reading := _kimi_call(source, at):
        calls.extend(reading.calls)
        at = reading.end
    return Calls(tuple(calls), at) if calls and not _KIMI_MARK.search(source.text, at) else None


def _kimi_call(source: Source, at: int) -> Calls | None:
    head = _KIMI_HEAD.match(source.text, at)
    name = source.offered.named(head["name"]) if head else ""
    if head is None or name not in source.offered.names:
        return None
    value = value_at(source, head.end())
    if isinstance(value, Flaw) or not isinstance(value.tree, Mapping):
        return None
    end = _KIMI_END.match(source.text, value.end)
    call = found(name, value.tree, "kimi_k2", head["id"]) if end else None
    return Calls((call,), end.end()) if call and end else None


def gemma(source: Source) -> Calls | None:
    """Gemma 4's call, closed by its token."""
    head = _GEMMA_NAME.match(source.text)
    if head is None or source.offered.named(head["name"]) not in source.offered.names:
        return None
    reading = gemma4(source, 0, 0)
    if not isinstance(reading, Calls) or not _GEMMA_END.search(source.text[: reading.end]):
        return None
    return reading


HEADLESS: Final[Mapping[str, Headless]] = {"tool_call": hermes, "call_begin": kimi, "gemma4": gemma}
"""A reader for each opener that may be missing at the head of a message."""
