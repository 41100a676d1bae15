"""Pieces of text that mean something to the normalisers."""

from __future__ import annotations

import json
import re
from pathlib import Path

CORPORA = Path(__file__).resolve().parents[1] / "corpora"

_MARK = re.compile(r"<[^<>\n]{1,48}>|</?\w+[=:]|\[/?[A-Z_]{2,}\]|✿\w+✿:?|\]<\]minimax\[>\[")

_QUOTES = (
    *("`", "``", "```", "```json\n", "~~~\n", "\n```\n", "<!--", "-->", "\n> ", "“", "”", "<think>"),
    *("</think>", "[THINK]", "[/THINK]", "<tool_response>", "</tool_response>", "Observation:"),
)
"""What opens or closes a quotation."""
_JSON = (
    *('{"', '"}', '":', '","', ",", "{", "}", "[", "]", "[]", "{}", "\\", '\\"', "\\u", "\\ud83d", "'"),
    *("//", "/*", "null", "true", "False", "None", "NaN", "1e999", "-0.0", "12", "0x1F", "9" * 40),
    *("undefined", "\ufeff", '{"name": "ping", "arguments": {}}'),
    *('{"name": "add", "arguments": {"a": 1, "s": "x"}}', '"name"', '"arguments"', '"parameters"'),
    *('"id"', '"type"', '"function"', '"tool_calls"', '"content"', '"choices"', '"message"', '"delta"'),
    *('"index"', '"finish_reason"', '"error"', '"role"', '"usage"', '"text"', '"stop"', '"length"'),
    *('"tool_calls"', '"function_call"', '"reasoning_content"', '"refusal"', '"call_a"'),
)
_CODE = (
    *("ping", "add", "ping()", 'add(a=1, s="x")', "functions.", "default_api.", "to=functions.ping "),
    *("print(", "Action: ", "Action Input: ", "Final Answer:", ">>>", "functools[", "tool_code\n"),
    *("call:ping{", "; "),
)
_STREAM = (
    *("data: ", "data:", "event: ", "id: 1", ": ping", "retry: 1", "error: ", "\n", "\n\n", "\r\n", "\r"),
    *("[DONE]", '{"choices":[{"index":0,"delta":{', '{"content":"Hi"}', '"tool_calls":[{"index":0,'),
    *('"finish_reason":"stop"', '"function":{"name":"ping","arguments":"', '"}}]}}]}', "}}]}"),
    *("data: [DONE]\n\n",),
)


def _marks() -> list[str]:
    """The marks of all dialects, in the order in which the worked cases first hold them."""
    lines = (CORPORA / "text-calls.jsonl").read_text(encoding="utf-8").splitlines()
    contents = [json.loads(line)["content"] for line in lines]
    return [mark for content in contents for mark in _MARK.findall(content)]


FRAGMENTS = tuple(dict.fromkeys([*_QUOTES, *_JSON, *_CODE, *_STREAM, *_marks()]))
"""The pieces; an input names them by number."""
