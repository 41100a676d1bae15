"""Tool calls that a model writes as text.

Weak models, and servers without a tool parser, leave calls in the assistant's text. Reading
them back is opt-in, by dialect:

``hermes_json``
    ``<tool_call>{"name": …, "arguments": {…}}</tool_call>``, anywhere in the text (Hermes 2-4,
    Qwen 2.5 and 3).
``json_fenced``
    The whole message is one ```` ```json ```` fence around such an object, with at most one
    paragraph before it and nothing behind it (Qwen 2.5 Coder, xLAM).

Text is also where quotations stand, so: what is inside a code fence, inline code, an HTML
comment, a tool response or closed reasoning is never a call; a call that was cut is never a
call; and when there is no call, the content is what came.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from json import JSONDecoder
from typing import Final, Literal, TypeAlias

from toolreel.jsontext import Json, JsonText, canonical, read

__all__ = ["DIALECTS", "Rejection", "TextCall", "TextCalls", "text_calls"]

DIALECTS: Final = ("hermes_json", "json_fenced")
"""The dialects that can be enabled."""

Rejection: TypeAlias = Literal["malformed", "truncated"]

_MAX_DEPTH: Final = 64
_THINK: Final = re.compile(r"\s*<think>(.*?)</think>", re.DOTALL)
_FENCED: Final = re.compile(
    r"\s*(?:(?P<lead>(?!```)[^\n]+(?:\n(?!```)[^\n]+)*)\n\s*)?"
    r"```(?:json|tool_call)[ \t]*\n(?P<body>.*?)\n?```\s*",
    re.DOTALL,
)
_MARK: Final = re.compile(
    r"(?P<fence>^[ \t]{0,3}(?:`{3,}|~{3,}))|(?P<ticks>`+)|(?P<comment><!--)|(?P<response><tool_response>)"
    r"|(?P<open><tool_call>)",
    re.IGNORECASE | re.MULTILINE,
)
_BARE_NAME: Final = re.compile(r"\s*([\w.-]+)\s*</tool_call>", re.IGNORECASE)
_CLOSE: Final = re.compile("</tool_call>", re.IGNORECASE)
_OPEN_BRACE: Final = re.compile("[\\s\ufeff\u200b]*{")
_TAIL: Final = re.compile("[\\s\ufeff\u200b}\\]]*(?:</tool_call>|(?=<tool_call>)|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TextCall:
    """A call that was found in text."""

    name: str
    arguments: JsonText
    original: str
    """The text between the marks."""
    dialect: str


@dataclass(frozen=True, slots=True)
class TextCalls:
    """What a text holds besides text."""

    calls: tuple[TextCall, ...]
    content: str
    """The text outside the calls; without calls, the text as it came, less closed reasoning."""
    reasoning: str = ""
    rejected: tuple[Rejection, ...] = ()
    """Why things that looked like calls were left alone."""


def text_calls(content: str, *, tools: Collection[str], dialects: Sequence[str], finish: str) -> TextCalls:
    """Find the calls in a text.

    >>> text = 'One moment.<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
    >>> text_calls(text, tools=["ping"], dialects=["hermes_json"], finish="stop").calls[0].name
    'ping'
    >>> text_calls("Use `<tool_call>`.", tools=["ping"], dialects=["hermes_json"], finish="stop").content
    'Use `<tool_call>`.'

    :param tools: names of the tools that exist
    :param dialects: names out of :data:`DIALECTS`
    :param finish: the reply's finish reason; after ``length`` an unfinished call was cut
    """
    thought = _THINK.match(content)
    reasoning, text = (thought[1].strip(), content[thought.end() :]) if thought else ("", content)
    if "json_fenced" in dialects and (fenced := _fenced(text, tools)):
        return TextCalls((fenced[0],), fenced[1], reasoning)
    if "hermes_json" in dialects:
        found = _scan(text, tools, cut=finish == "length")
        if found.calls:
            return TextCalls(tuple(found.calls), found.rest(text), reasoning, tuple(found.rejected))
        return TextCalls((), text if thought else content, reasoning, tuple(found.rejected))
    return TextCalls((), text if thought else content, reasoning)


def _fenced(text: str, tools: Collection[str]) -> tuple[TextCall, str] | None:
    message = _FENCED.fullmatch(text)
    if message is None or "```" in message["body"]:
        return None
    envelope = read(message["body"], max_depth=_MAX_DEPTH).value_or(None)
    if not isinstance(envelope, Mapping) or set(envelope) != {"name", "arguments"}:
        return None
    call = _decoded(envelope, message["body"], "json_fenced")
    return (call, message["lead"] or "") if call and call.name in tools else None


@dataclass(slots=True)
class _Found:
    """What one scan has found so far."""

    calls: list[TextCall] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    """Where the calls, and the debris of rejected ones, stand."""
    rejected: list[Rejection] = field(default_factory=list)

    def rest(self, text: str) -> str:
        """The text outside the spans."""
        kept, start = [], 0
        for begin, end in self.spans:
            kept.append(text[start:begin].strip())
            start = end
        kept.append(text[start:].strip())
        return " ".join(part for part in kept if part.strip("\ufeff\u200b"))


def _scan(text: str, tools: Collection[str], *, cut: bool) -> _Found:
    found = _Found()
    position = 0
    while mark := _MARK.search(text, position):
        if mark["open"] is None:
            position = _end_of_quotation(text, mark)
        else:
            position = _read_block(text, mark, tools, found, cut=cut)
    return found


def _end_of_quotation(text: str, mark: re.Match[str]) -> int:
    """Where what opens here ends: to the end of the text if it is never closed, except inline code."""
    match mark.lastgroup:
        case "fence":
            run = mark["fence"].strip()
            closing = re.compile(rf"^[ \t]{{0,3}}{run[0]}{{{len(run)},}}[ \t]*$", re.MULTILINE)
            close = closing.search(text, mark.end())
            return close.end() if close else len(text)
        case "ticks":
            close = re.compile(rf"(?<!`){mark['ticks']}(?!`)").search(text, mark.end())
            return close.end() if close else mark.end()
        case "comment":
            return _after(text, "-->", mark.end())
        case _:
            return _after(text, "</tool_response>", mark.end())


def _after(text: str, closer: str, start: int) -> int:
    place = text.find(closer, start)
    return len(text) if place < 0 else place + len(closer)


def _read_block(text: str, mark: re.Match[str], tools: Collection[str], found: _Found, *, cut: bool) -> int:
    """Read one ``<tool_call>`` block into ``found``; returns where the scan goes on."""
    calls, end = _payload(text, mark.end(), tools)
    tail = _TAIL.match(text, end)
    if calls and tail:
        found.calls += calls
        found.spans.append((mark.start(), tail.end()))
        return tail.end()
    close = _CLOSE.search(text, mark.end())
    if close is None and not cut:
        return mark.end()
    if close is None:
        found.rejected.append("truncated")
        found.spans.append((mark.start(), len(text)))
        return len(text)
    if _OPEN_BRACE.match(text, mark.end()):
        found.rejected.append("malformed")
        found.spans.append((mark.start(), close.end()))
    return close.end()


def _payload(text: str, start: int, tools: Collection[str]) -> tuple[list[TextCall], int]:
    """The calls that stand at ``start``, one object after another, and where they end."""
    calls: list[TextCall] = []
    while (value := _value_at(text, start)) is not None:
        tree, end = value
        call = _decoded(tree, text[start:end].strip(), "hermes_json") if isinstance(tree, Mapping) else None
        if call is None:
            return [], end
        calls.append(call)
        start = end
    if not calls and (bare := _BARE_NAME.match(text, start)) and bare[1] in tools:
        return [TextCall(bare[1], canonical({}), bare[1], "hermes_json")], bare.end(1)
    return calls, start


def _value_at(text: str, start: int) -> tuple[Json, int] | None:
    begin = _OPEN_BRACE.match(text, start)
    if begin is None:
        return None
    try:
        _, end = JSONDecoder().raw_decode(text, begin.end() - 1)
    except (ValueError, RecursionError):
        return None
    return (
        read(text[begin.end() - 1 : end], max_depth=_MAX_DEPTH).map(lambda tree: (tree, end)).value_or(None)
    )


def _decoded(envelope: Mapping[str, Json], original: str, dialect: str) -> TextCall | None:
    name = envelope.get("name")
    arguments = envelope.get("arguments", envelope.get("parameters"))
    if isinstance(arguments, str) and arguments.strip():
        arguments = read(arguments, max_depth=_MAX_DEPTH).value_or(arguments)
    if not isinstance(name, str) or not name.strip():
        return None
    if arguments is None or arguments == "":
        arguments = {}
    if not isinstance(arguments, Mapping):
        return None
    return TextCall(name.strip(), canonical(arguments), original, dialect)
