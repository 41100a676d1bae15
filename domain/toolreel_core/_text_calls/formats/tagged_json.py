"""JSON between tags or tokens: whole envelopes, or the name of a tool and its arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from toolreel_core._jsontext import BLANK, Json, parse
from toolreel_core._text_calls.decoder_interface import (
    Broken,
    Calls,
    Decoder,
    Found,
    Offered,
    Reading,
    Source,
    found,
)
from toolreel_core._text_calls.formats.deepseek_tokens import BAR
from toolreel_core._text_calls.json_payload import (
    Block,
    arguments,
    arguments_of,
    closers,
    enveloped,
    marked_calls,
    skip_blanks,
)


def _keyed(tree: Json, offered: Offered, dialect: str) -> Iterator[Found | None]:
    """Apertus: calls with the tool's name as key: ``[{"ping": {}}]``."""
    items = tree if isinstance(tree, Sequence) and not isinstance(tree, str) else (tree,)
    for item in items:
        for name, raw in item.items() if isinstance(item, Mapping) else ():
            given = arguments_of(raw)
            yield None if given is None else found(offered.named(name), given, dialect)


_BLOCKS: Final[Mapping[str, tuple[str, str, tuple[str, ...]]]] = {
    "pipes": (r"<\|tool_call\|>", r"<\|/tool_call\|>", ("granite_json", "phi4_json")),
    "function_call": (r"<function_call>", r"</function_call>", ("granite20b_fc",)),
    "functools": (r"(?<![\w.])functools(?=\[)", r"(?!)", ("functools_json",)),
    "toolcall": (r"<TOOLCALL>", r"</TOOLCALL>", ("nemotron_toolcall",)),
    "tool_calls": (r"<tool_calls>", r"</tool_calls>", ("tool_calls_json",)),
    "action": (r"<\|START_ACTION\|>", r"<\|END_ACTION\|>", ("cohere_action",)),
    "tools_prefix": (r"<\|tools_prefix\|>", r"<\|tools_suffix\|>", ("apertus_json",)),
    "plugin": (r"<\|action_start\|>\s{0,9}<\|plugin\|>", r"<\|action_end\|>", ("internlm_plugin",)),
    "gigachat": (
        r"(?:function call<\|role_sep\|>|<\|function_call\|>)",
        r"<\|message_sep\|>",
        ("gigachat_fc",),
    ),
    "inkling": (r"<\|content_invoke_tool_json\|>", r"<\|end_message\|>", ("inkling_blocks",)),
    "request": (r"\[TOOL_REQUEST\]", r"\[END_TOOL_REQUEST\]", ("lmstudio_request",)),
    "tool_use": (r"<tool_use>", r"</tool_use>", ("invoke_xml",)),
    "dots": (r"<dots_function_calls?>", r"</dots_function_calls?>", ("invoke_xml",)),
}
"""Opener, closing tag and dialects of each block."""

JSON_OPENERS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    key: (opener, dialects) for key, (opener, _, dialects) in _BLOCKS.items()
}
"""Opener (a pattern) and dialects of each block."""


def json_decoder(key: str) -> Decoder:
    """The decoder of one of the blocks."""
    opener, closer, dialects = _BLOCKS[key]
    envelopes = _keyed if key == "tools_prefix" else marked_calls
    block = Block(dialects, re.compile(opener, re.IGNORECASE), closers(closer), envelopes)

    def decode(source: Source, _start: int, end: int) -> Reading:
        return enveloped(source, end, block)

    return decode


CALL_BEGIN: Final = rf"<{BAR}tool[▁_ ]call[▁_ ]begin{BAR}>"
"""DeepSeek's opener, also as proxies garble it; in plain ASCII it is Kimi's."""

_SEP: Final = rf"<{BAR}tool[▁_ ]sep{BAR}>"
_NAME: Final = rf"[{BLANK}]*+(?P<name>[^\s<>{{}}`\"']{{1,200}}+)[{BLANK}]*+"

_KIMI_HEAD: Final = re.compile(
    rf"[{BLANK}]*+(?P<id>[^<>\n]{{1,200}}?)(?<![{BLANK}])[{BLANK}]*+<\|tool_call_argument_begin\|>"
)
"""The id of a call of Kimi K2, up to its arguments."""
_KIMI_ID: Final = re.compile(r"(?:functions\.)?(?P<name>.+?)(?P<index>:\d+)?", re.DOTALL)
"""The name in such an id, and the counter after it."""
_KIMI_COUNTER: Final = re.compile(r"(?:call_?|functions\.)?:?\d+")
"""An id that is only a counter: then nothing names the tool."""
_KIMI: Final = Block(
    ("kimi_k2",),
    re.compile(CALL_BEGIN),
    closers(r"<\|tool_call_end\|>", r"(?=<\|tool_calls?_section_end\|>)"),
)
_END: Final = rf"<{BAR}tool[▁_ ]calls?[▁_ ]end{BAR}>"
_DEEPSEEK_HEAD: Final = re.compile(
    rf"[{BLANK}]*+(?P<first>[^<>\n]{{1,200}}?)(?<![{BLANK}])[{BLANK}]*+{_SEP}"
    rf"(?:{_NAME}(?=[{{`]|{_END}))?[{BLANK}]*+(?=[{{`\"]|{_END}|\Z)"
)
"""The head of a call of DeepSeek: V3 has a type before the name, V3.1 the name alone."""
_DEEPSEEK: Final = Block(
    ("deepseek_v31", "deepseek_v3"),
    re.compile(CALL_BEGIN),
    closers(_END.replace("calls?", "call"), rf"(?={_END})"),
)
_DEEPSEEK_3: Final = replace(_DEEPSEEK, dialects=("deepseek_v3", "deepseek_v31"))
_MISTRAL: Final = re.compile(
    rf"(?P<name>[\w.:-]{{1,200}})(?:\[CALL_ID\](?P<id>\w{{1,64}}))?[{BLANK}]*(?:\[ARGS\]|(?={{))"
)
"""The head of a call of Mistral, with an id or without; the mark of the arguments may be missing."""
_MISTRAL_BLOCK: Final = Block(
    ("mistral_tool_calls",), re.compile(r"\[TOOL_CALLS\]"), closers(r"\[/TOOL_CALLS\]", r"(?=\[TOOL_CALLS\])")
)
_SOLAR: Final = re.compile(
    rf"[{BLANK}]*+(?P<id>[^<>\s]{{0,200}}+)[{BLANK}]*+<\|tool_call:name\|>{_NAME}<\|tool_call:args\|>"
)
"""The head of a call of Solar."""
_SOLAR_BLOCK: Final = Block(
    ("solar_open",), re.compile(r"<\|tool_call:begin\|>"), closers(r"<\|tool_call:end\|>")
)
_PLAMO: Final = re.compile(
    rf"{_NAME}<\|plamo:end_tool_name:plamo\|>[{BLANK}]*<\|plamo:begin_tool_arguments:plamo\|>[{BLANK}]*"
    rf"(?:<\|plamo:constrain\|>\w*[{BLANK}]*)?(?:<\|plamo:msg\|>)?"
)
"""The head of a call of PLaMo, whose constraint on the arguments is optional."""
_PLAMO_BLOCK: Final = Block(
    ("plamo_requests",),
    re.compile(r"<\|plamo:begin_tool_name:plamo\|>"),
    closers(r"<\|plamo:end_tool_arguments:plamo\|>"),
)
_FLOWER: Final = re.compile(r"[ ]*+(?:[:：][ ]*+)?(?P<name>[^\s✿:：]{1,200}+)\s*+✿ARGS✿[ ]*[:：]?")
"""The head of a call of Qwen-Agent; its colons may be full-width."""
_FLOWER_BLOCK: Final = Block(
    ("qwen_agent_flower",), re.compile("✿FUNCTION✿"), closers("(?=✿(?:RESULT|RETURN|FUNCTION)✿)")
)
_REMARK: Final = re.compile(r"[ \t]*(?://|#)[^\n]*")


def deepseek_or_kimi(source: Source, _start: int, end: int) -> Reading:
    """One call after the opener that both families share; Kimi marks the arguments."""
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
    """A call whose id contains the tool's name, as in ``functions.ping:0``, or is only a counter.

    With a counter, the arguments select the tool, if they fit only one.
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
