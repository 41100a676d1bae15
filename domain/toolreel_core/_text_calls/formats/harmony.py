"""Messages with headers: OpenAI's Harmony, Muse's recipients, Inkling's typed blocks.

The header names the recipient: messages to the user are text, messages of the model to itself are
reasoning, and messages to ``functions.NAME`` are calls. Headers are never visible text.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from toolreel_core._jsontext import end_of
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._text_calls.decoder_interface import Reading, Source, broken
from toolreel_core._text_calls.payloads import Block, closing_tags, named_call, skip_blanks

_TRAILER: Final = r"<\|(?:end|call|return|eom|eot|end_message|content_model_end_sampling)\|>"

_HEADER: Final = lazy_pattern(
    r"<\|(?P<opener>start|channel)\|>(?P<role>\w{0,40})[^<>\n]{0,200}"
    r"(?:<\|(?:channel|constrain)\|>[^<>\n]{0,200}){0,4}<\|message\|>"
)
_BODY_END: Final = lazy_pattern(rf"{_TRAILER}|(?=<\|start\|>|<\|channel\|>)")
_RECIPIENT: Final = lazy_pattern(r"\bto=(?P<to>[^\s<>]{1,200})")
_CHANNEL: Final = lazy_pattern(r"<\|channel\|>\s*(?P<name>\w*)")
_CALL: Final = Block(("harmony",), lazy_pattern(r"<\|start\|>|<\|channel\|>"), closing_tags(_TRAILER))

_LEAKED: Final = lazy_pattern(r"to=functions\.(?P<name>[\w.-]{1,200})[^{}<>`]{0,100}(?={)")
"""A header whose tokens the server has removed, up to the arguments."""
_NO_TOKEN: Final = Block(("harmony",), lazy_pattern(r"to=functions\."), closing_tags(r"(?!)"))

_DEBRIS: Final = lazy_pattern(r"[^\s<]*")
_GLUED: Final = lazy_pattern(r"(?:assistant)?(?:commentary|analysis)?[ ]?\Z")
_MUSE: Final = lazy_pattern(r"to=(?P<to>[^\s<>]{1,200})[ \t]*<\|message\|>")
_THINKING: Final = {"thinking", "thought", "reasoning"}


def headed_message(source: Source, start: int, _end: int) -> Reading | None:
    """One message, by its recipient and channel (gpt-oss) or by its recipient alone (Muse)."""
    header = _HEADER.match(source.text, start)
    channel = _CHANNEL.search(header[0]) if header else None
    if header is None or (channel and "harmony" not in source.enabled):
        return None
    if header["opener"] == "start" and header["role"] not in {"", "assistant"}:
        return broken("fabricated_result", len(source.text))
    recipient = _RECIPIENT.search(header[0])
    if channel is None:
        return _muse_message(source, header, recipient["to"] if recipient else "user")
    if recipient:
        return _call_to_recipient(source, header, recipient["to"])
    match channel["name"]:
        case "analysis":
            return _reasoning_message(source, header.end())
        case "commentary" if source.text.startswith("{", skip_blanks(source.text, header.end())):
            # Arguments in the channel of calls, for no tool.
            return broken("malformed", source.end_of_next(_BODY_END, header.end()))
        case "commentary" | "final":
            return Reading(header.end(), is_framing=True)
        case _:
            return None


def message_to(source: Source, start: int, _end: int) -> Reading | None:
    """A header that begins with ``to=``: Muse's without its opener, or Harmony's without its tokens.

    Of the latter only ``to=functions.NAME`` and JSON remain, with other debris around them (as in
    openai/codex). The same words may be prose, so the tool must exist.
    """
    if header := _MUSE.match(source.text, start):
        return _muse_message(source, header, header["to"])
    leaked = _LEAKED.match(source.text, start)
    if leaked is None or "harmony" not in source.enabled or leaked["name"] not in source.offered.names:
        return None
    reading = named_call(source, leaked.end(), leaked["name"], _NO_TOKEN)
    if reading.calls:
        return replace(reading, end=end_of(_DEBRIS, source.text, reading.end))
    return reading if reading.rejected == ("truncated",) else None


def start_of_header_words(text: str, start: int) -> int:
    """The start of the words that remain of a header before ``to=`` if its tokens are lost."""
    words = _GLUED.search(text, max(0, start - 30), start)
    return words.start() if words else start


def start_of_title(text: str, start: int, reading: Reading | None) -> int:
    name = reading.calls[0].name if reading and reading.calls else ""
    return start - len(name) if text.endswith(name, 0, start) else start


def inkling_block(source: Source, start: int, end: int) -> Reading | None:
    kind = source.text[start:end].removeprefix("<|content_").removesuffix("|>")
    return _reasoning_message(source, end) if kind in _THINKING else Reading(end, is_framing=True)


def _muse_message(source: Source, header: re.Match[str], recipient: str) -> Reading | None:
    """Muse: messages to ``self`` are reasoning; calls follow as markup."""
    if recipient.startswith("functions."):
        return _call_to_recipient(source, header, recipient) if "harmony" in source.enabled else None
    if recipient == "self":
        return _reasoning_message(source, header.end())
    return Reading(header.end(), is_framing=True)


def _call_to_recipient(source: Source, header: re.Match[str], recipient: str) -> Reading | None:
    name = recipient.removeprefix("functions.")
    if name == recipient:
        end = source.end_of_next(_BODY_END, header.end())
        return Reading(end, rejected=("builtin_recipient",), is_framing=True)
    return named_call(source, header.end(), source.offered.resolve_name(name), _CALL)


def _reasoning_message(source: Source, begin: int) -> Reading:
    close = source.search(_BODY_END, begin)
    reasoning = source.text[begin : close.start() if close else None].strip()
    return Reading(source.end_of_next(_BODY_END, begin), reasoning=reasoning, is_framing=True)
