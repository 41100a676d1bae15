"""Dialects that name a tool first and give its arguments as JSON behind it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from toolreel_core._jsontext.canonical import parse
from toolreel_core._jsontext.json_repair import BLANK
from toolreel_core._text_calls.decoder import Broken, Calls, Reading
from toolreel_core._text_calls.source import Source
from toolreel_core._text_calls.values.payload import Block, arguments, closers, enveloped, skip_blanks

CALL_BEGIN: Final = r"<[|｜]tool[▁_ ]call[▁_ ]begin[|｜]>"
"""DeepSeek's opener, also as proxies garble it, which in plain ASCII is Kimi's."""

_SEP: Final = r"<[|｜]tool[▁_ ]sep[|｜]>"
_NAME: Final = rf"[{BLANK}]*(?P<name>[^\s<>{{}}`\"']{{1,200}})[{BLANK}]*"

_KIMI_HEAD: Final = re.compile(
    rf"[{BLANK}]*(?P<id>[^<>\n]{{1,200}}?)[{BLANK}]*<\|tool_call_argument_begin\|>"
)
_KIMI_ID: Final = re.compile(r"(?:functions\.)?(?P<name>.+?)(?P<index>:\d+)?", re.DOTALL)
_KIMI_COUNTER: Final = re.compile(r"(?:call_?|functions\.)?:?\d+")
_KIMI: Final = Block(
    ("kimi_k2",),
    re.compile(CALL_BEGIN),
    closers(r"<\|tool_call_end\|>", r"(?=<\|tool_calls?_section_end\|>)"),
)
_END: Final = r"<[|｜]tool[▁_ ]calls?[▁_ ]end[|｜]>"
_DEEPSEEK_HEAD: Final = re.compile(
    rf"[{BLANK}]*(?P<first>[^<>\n]{{1,200}}?)[{BLANK}]*{_SEP}"
    rf"(?:{_NAME}(?=[{{`]|{_END}))?[{BLANK}]*(?=[{{`\"]|{_END}|\Z)"
)
_DEEPSEEK: Final = Block(
    ("deepseek_v31", "deepseek_v3"),
    re.compile(CALL_BEGIN),
    closers(_END.replace("calls?", "call"), rf"(?={_END})"),
)
_DEEPSEEK_3: Final = replace(_DEEPSEEK, dialects=("deepseek_v3", "deepseek_v31"))
_MISTRAL: Final = re.compile(
    rf"(?P<name>[\w.:-]{{1,200}})(?:\[CALL_ID\](?P<id>\w{{1,64}}))?[{BLANK}]*(?:\[ARGS\]|(?={{))"
)
_MISTRAL_BLOCK: Final = Block(
    ("mistral_tool_calls",), re.compile(r"\[TOOL_CALLS\]"), closers(r"\[/TOOL_CALLS\]", r"(?=\[TOOL_CALLS\])")
)
_SOLAR: Final = re.compile(
    rf"[{BLANK}]*(?P<id>[^<>\s]{{0,200}})[{BLANK}]*<\|tool_call:name\|>{_NAME}<\|tool_call:args\|>"
)
_SOLAR_BLOCK: Final = Block(
    ("solar_open",), re.compile(r"<\|tool_call:begin\|>"), closers(r"<\|tool_call:end\|>")
)
_PLAMO: Final = re.compile(
    rf"{_NAME}<\|plamo:end_tool_name:plamo\|>[{BLANK}]*<\|plamo:begin_tool_arguments:plamo\|>[{BLANK}]*"
    rf"(?:<\|plamo:constrain\|>\w*[{BLANK}]*)?(?:<\|plamo:msg\|>)?"
)
_PLAMO_BLOCK: Final = Block(
    ("plamo_requests",),
    re.compile(r"<\|plamo:begin_tool_name:plamo\|>"),
    closers(r"<\|plamo:end_tool_arguments:plamo\|>"),
)
_FLOWER: Final = re.compile(r"[ ]*[:：]?[ ]*(?P<name>[^\s✿:：]{1,200})\s*✿ARGS✿[ ]*[:：]?")
_FLOWER_BLOCK: Final = Block(
    ("qwen_agent_flower",), re.compile("✿FUNCTION✿"), closers("(?=✿(?:RESULT|RETURN|FUNCTION)✿)")
)
_REMARK: Final = re.compile(r"[ \t]*(?://|#)[^\n]*")


def deepseek_or_kimi(source: Source, _start: int, end: int) -> Reading:
    """One call behind the opener that both families share: Kimi's has its arguments marked."""
    kimi = _KIMI_HEAD.match(source.text, end)
    if kimi:
        return _kimi(source, kimi) if "kimi_k2" in source.enabled else None
    head = _DEEPSEEK_HEAD.match(source.text, end)
    if head is None:
        return None
    if head["name"]:
        return _named(source, head, _DEEPSEEK_3)
    return arguments(source, head.end(), source.offered.named(head["first"]), _DEEPSEEK)


def mistral(source: Source, _start: int, end: int) -> Reading:
    """``[TOOL_CALLS]`` before a list of envelopes, or before a name and its arguments."""
    at = skip_blanks(source.text, end)
    if source.text.startswith(("[{", "{", "[ ", "[\n"), at):
        return enveloped(source, at, _MISTRAL_BLOCK)
    head = _MISTRAL.match(source.text, at)
    return _named(source, head, _MISTRAL_BLOCK, head["id"] or "") if head else None


def solar(source: Source, _start: int, end: int) -> Reading:
    """Solar's call: its id, its name, its arguments."""
    head = _SOLAR.match(source.text, end)
    return _named(source, head, _SOLAR_BLOCK, head["id"]) if head else None


def plamo(source: Source, _start: int, end: int) -> Reading:
    """PLaMo's request, whose arguments may be announced as JSON."""
    head = _PLAMO.match(source.text, end)
    return _named(source, head, _PLAMO_BLOCK) if head else None


def flower(source: Source, _start: int, end: int) -> Reading:
    """Qwen-Agent's call; a comment behind its JSON is part of it."""
    head = _FLOWER.match(source.text, end)
    reading = _named(source, head, _FLOWER_BLOCK) if head else None
    remark = _REMARK.match(source.text, reading.end) if isinstance(reading, Calls) else None
    return replace(reading, end=remark.end()) if isinstance(reading, Calls) and remark else reading


def _named(source: Source, head: re.Match[str], block: Block, call_id: str = "") -> Reading:
    return arguments(source, head.end(), source.offered.named(head["name"]), block, call_id)


def _kimi(source: Source, head: re.Match[str]) -> Reading:
    """A call whose id names the tool, as in ``functions.ping:0``, or is a counter alone.

    Then the arguments tell which tool is meant, if they fit only one.
    """
    call_id = head["id"].strip()
    if _KIMI_COUNTER.fullmatch(call_id):
        reading = arguments(source, head.end(), "?", _KIMI, call_id)
        return _inferred(source, reading) if isinstance(reading, Calls) else reading
    parts = _KIMI_ID.fullmatch(call_id)
    bare = parts["name"] if parts else call_id
    whole = f"functions.{bare}"
    name = whole if whole in source.offered.names else source.offered.named(bare)
    return arguments(source, head.end(), name, _KIMI, call_id if parts and parts["index"] else "")


def _inferred(source: Source, reading: Calls) -> Reading:
    (call,) = reading.calls
    given = parse(call.arguments)
    name = source.offered.taking(given if isinstance(given, Mapping) else {})
    if not name:
        return Broken("malformed", reading.end)
    return replace(reading, calls=(replace(call, name=name),))
