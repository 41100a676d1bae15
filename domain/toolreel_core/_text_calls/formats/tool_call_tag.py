"""``<tool_call>`` and its relatives: one tag, and what stands in it says how it is read.

Hermes and Qwen put JSON into the tag, Qwen3-Coder a ``<function=…>``, GLM a name and pairs of keys
and values. Models fall back from one to the other, so the payload selects the decoder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from toolreel_core._jsontext.canonical import parse
from toolreel_core._jsontext.json_repair import BLANK
from toolreel_core._text_calls.decoder import Broken, Calls, Found, Reading, found
from toolreel_core._text_calls.formats.arg_keys import SUFFIX, arg_keys
from toolreel_core._text_calls.formats.elements import one_line_break_less
from toolreel_core._text_calls.formats.functions import FUNCTION, INVOKE, function, invoke
from toolreel_core._text_calls.source import Source
from toolreel_core._text_calls.values.payload import Block, arguments, closers, enveloped, skip_blanks, tail

# Seed-OSS, K2-Horizon, LongCat and IQuest put a prefix before the tag that Hermes and Qwen use.
_PREFIX: Final = r"(?:seed:|ifm\||longcat_|iquest_)?"
OPENING: Final = rf"<{_PREFIX}tool_call{SUFFIX}>"
"""The opening tag, with a family's prefix or a checkpoint's suffix."""
CLOSING: Final = rf"</{_PREFIX}tool_call{SUFFIX}>"
"""The closing tag."""

_BLOCK: Final = Block(
    ("hermes_json", "granite_json", "glm_xml", "qwen_xml"),
    re.compile(OPENING, re.IGNORECASE),
    closers(CLOSING),
)
_OWNERS: Final = {"seed:": "seed_xml", "ifm|": "ifm_xml", "longcat_": "longcat_json", "iquest_": "glm_xml"}
# Some mix both forms: a bare name as GLM writes it, then an object as Hermes does.
_NAMED: Final = re.compile(rf"[{BLANK}]*(?P<name>[\w.:-]{{0,199}}\w)[{BLANK}]*(?={{)")
# Qwen's code interpreter writes its code behind the JSON.
_CODE: Final = re.compile(rf"[{BLANK}]*<code>")
# The beginning of `<code>` at the end of a truncated text.
_BEGUN: Final = re.compile(rf"[{BLANK}]*(?:<(?:c(?:o(?:de?)?)?)?)?\Z")
_CLOSED: Final = re.compile(rf"{CLOSING}\Z", re.IGNORECASE)


def tool_call(source: Source, start: int, end: int) -> Reading:
    """The calls of one block, or the first of its elements."""
    mark = source.text[start + 1 : end - 1].lower()
    owner = next((owner for prefix, owner in _OWNERS.items() if mark.startswith(prefix)), "")
    block = replace(_BLOCK, dialects=(owner,)) if owner else _BLOCK
    at = skip_blanks(source.text, end)
    if FUNCTION.match(source.text, at):
        return function(source, at, at)
    if INVOKE.match(source.text, at):
        return invoke(source, at, at)
    if source.text.startswith(("{", "[", "```"), at):
        return _with_code(source, enveloped(source, at, block), block)
    if named := _NAMED.match(source.text, at):
        return arguments(source, named.end(), source.offered.named(named["name"]), block)
    likely = "hunyuan_xml" if mark.startswith("tool_call:") else "glm_xml"
    return arg_keys(source, end, owner or source.prefer(likely, "hunyuan_xml", "glm_xml", "hermes_json"))


def headless(source: Source) -> Calls | None:
    """The calls of a message that begins within a block: the server has swallowed the opener."""
    at = skip_blanks(source.text, 0)
    if not source.text.startswith("{", at) or source.search(_BLOCK.closing, at) is None:
        return None
    reading = enveloped(source, at, _BLOCK)
    if not isinstance(reading, Calls) or reading.broken:
        return None
    return reading if _CLOSED.search(source.text[: reading.end][-80:]) else None


def _with_code(source: Source, reading: Reading, block: Block) -> Reading:
    """A call whose code stands behind its JSON, as Qwen's code interpreter has it.

    The JSON announces it by an empty ``code``, so such a call is not whole before its code is there.
    """
    if not isinstance(reading, Calls):
        return reading
    *others, call = reading.calls
    tree = parse(call.arguments)
    given = tree if isinstance(tree, Mapping) else {}
    if given.get("code") != "":
        return reading
    opening = _CODE.match(source.text, reading.end)
    if opening is None:
        closed = _CLOSED.search(source.text[: reading.end][-80:])
        waiting = source.cut and not closed and _BEGUN.match(source.text, reading.end)
        return _without_last(source, others) if waiting else reading
    end = source.find("</code>", opening.end())
    code = one_line_break_less(source.text[opening.end() : end])
    whole = found(call.name, {**given, "code": code}, call.dialect, call.id)
    if end < 0 or whole is None:
        return _without_last(source, others)
    return Calls((*others, whole), tail(source, end + len("</code>"), block), reading.broken)


def _without_last(source: Source, calls: list[Found]) -> Reading:
    end = len(source.text)
    return Calls(tuple(calls), end, ("truncated",)) if calls else Broken("truncated", end)
