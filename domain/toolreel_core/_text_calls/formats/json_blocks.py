"""The dialects that put whole JSON envelopes between tags or tokens, as data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from toolreel_core._jsontext.canonical import Json
from toolreel_core._text_calls.decoder import Decoder, Found, Reading, found
from toolreel_core._text_calls.known_tools import Offered
from toolreel_core._text_calls.source import Source
from toolreel_core._text_calls.values.envelopes import arguments_of, marked_calls
from toolreel_core._text_calls.values.payload import Block, closers, enveloped


def _keyed(tree: Json, offered: Offered, dialect: str) -> Iterator[Found | None]:
    """Calls whose name is the key of their arguments, as Apertus has them: ``[{"ping": {}}]``."""
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
"""The opener of each block, as a pattern, and the dialects that it belongs to."""


def json_decoder(key: str) -> Decoder:
    """The decoder of one of the blocks."""
    opener, closer, dialects = _BLOCKS[key]
    envelopes = _keyed if key == "tools_prefix" else marked_calls
    block = Block(dialects, re.compile(opener, re.IGNORECASE), closers(closer), envelopes)

    def decode(source: Source, _start: int, end: int) -> Reading:
        return enveloped(source, end, block)

    return decode
