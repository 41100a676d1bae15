"""Messages that are Python calls: a list of them, or Gemini's ``tool_code``."""

from __future__ import annotations

import re
from typing import Final

from toolreel_core._jsontext.json_repair import Flaw
from toolreel_core._text_calls.decoder import Found
from toolreel_core._text_calls.formats.pythonic import Expression, expression, expressions
from toolreel_core._text_calls.source import Source
from toolreel_core._text_calls.whole_message.reader import Whole, fenced, is_paragraph

# Gemini prints the result of a call: `print(default_api.f(a=1))`.
_PRINT: Final = re.compile(r"\s*print\(")
# Gemini 2.5 leaks control tokens in the place of the fence: `<ctrl42>call`, and the code.
_LEAKED: Final = re.compile(
    r"^<ctrl\d{1,3}>call[ \t]*\n(?P<body>.*?)(?:<ctrl\d{1,3}>\s*)?\Z", re.MULTILINE | re.DOTALL
)
_LINE_END: Final = re.compile(r"\s*;?\s*")
# Python's comments are skipped between calls only.
_REMARKS: Final = re.compile(r"(?:\s*#[^\n]*(?:\n|\Z))*\s*")


def python_list(source: Source) -> Whole | None:
    """A message of Llama 3.2 and others that is one list of calls."""
    if not source.text.startswith("["):
        return None
    read = expressions(source, 0, "pythonic_list")
    if isinstance(read, Flaw) or read.end != len(source.text):
        return None
    return _known(source, read.calls, "")


def tool_code(source: Source) -> Whole | None:
    """Gemma's and Gemini's fence of calls, each of which may stand in a ``print``."""
    parts = fenced(source.text)
    if parts and parts.info == "tool_code":
        return _known(source, _printed(source, parts.body), parts.lead)
    leaked = _LEAKED.search(source.text)
    if leaked is None or not is_paragraph(source.text[: leaked.start()]):
        return None
    return _known(source, _printed(source, leaked["body"]), source.text[: leaked.start()].strip())


def _printed(outer: Source, text: str) -> tuple[Found, ...]:
    """The calls of lines that hold nothing else; none if one line does."""
    source = Source(text, outer.offered, outer.enabled, cut=False)
    calls: list[Found] = []
    at = _next_line(source, 0)
    while at < len(text):
        printed = _PRINT.match(text, at)
        at = printed.end() if printed else at
        read = expression(source, at, "tool_code_fence")
        if not isinstance(read, Expression) or (printed and not text.startswith(")", read.end)):
            return ()
        calls.extend(read.calls)
        after = _LINE_END.match(text, read.end + 1 if printed else read.end)
        at = _next_line(source, after.end() if after else read.end)
    return tuple(calls)


def _next_line(source: Source, at: int) -> int:
    """Where the next line begins that is neither blank nor a remark."""
    remarks = _REMARKS.match(source.text, at)
    return remarks.end() if remarks else at


def _known(source: Source, calls: tuple[Found, ...], lead: str) -> Whole | None:
    """The message, if all of its calls are of tools that exist."""
    return Whole(calls, lead) if calls and all(call.name in source.offered.names for call in calls) else None
