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
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from json import JSONDecoder
from typing import Final, Literal, TypeAlias

from toolreel.jsontext import Json, JsonText, canonical, read

__all__ = ["DIALECTS", "Rejection", "TextCall", "TextCalls", "text_calls"]

DIALECTS: Final = ("hermes_json", "json_fenced")
"""The dialects that can be enabled."""

Rejection: TypeAlias = Literal["malformed", "truncated", "too_large"]

_MAX_BYTES: Final = 256 * 1024
_MAX_DEPTH: Final = 64
_THOUGHT: Final = re.compile(r"\s*<think>(.*?)</think>", re.IGNORECASE | re.DOTALL)
_THOUGHTS: Final = re.compile(rf"(?:{_THOUGHT.pattern})+", re.IGNORECASE | re.DOTALL)
_THINK: Final = re.compile(r"\s*<think>", re.IGNORECASE)
_MARK: Final = re.compile(
    r"(?P<fence>^[ \t]{0,3}(?:`{3,}|~{3,}))|(?P<ticks>`+)|(?P<comment><!--)|(?P<think><think>)"
    r"|(?P<response><tool_response>)|(?P<open><tool_call>)",
    re.ASCII | re.IGNORECASE | re.MULTILINE,
)
_CLOSER: Final = re.compile(r"`+|-->|</(?:think|tool_response|tool_call)>", re.ASCII | re.IGNORECASE)
_BARE_NAME: Final = re.compile(r"\s*([\w.-]+)\s*</tool_call>", re.IGNORECASE)
_OPEN: Final = re.compile("[^<]*<tool_call>", re.IGNORECASE)
_OPEN_BRACE: Final = re.compile("[\\s\ufeff\u200b]*{")
_TAIL: Final = re.compile(
    "[\\s\ufeff\u200b}\\]]*(?:</tool_call>|<tool_call>(?=\\s*(?:<tool_call>|\\Z))|(?=<tool_call>)|\\Z)",
    re.IGNORECASE,
)


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

    :param content: a text of more than 256 KiB is left alone
    :param tools: names of the tools that exist
    :param dialects: names out of :data:`DIALECTS`
    :param finish: the reply's finish reason; after ``length`` an unfinished call was cut
    """
    if len(content.encode("utf-8", "surrogatepass")) > _MAX_BYTES:
        return TextCalls((), content, rejected=("too_large",) if dialects else ())
    found = _found(content, tools, dialects, cut=finish == "length")
    # What stood apart may read as one more call once the calls between are gone: it is not handed out.
    if found.calls and _found(found.content, tools, dialects, cut=False).calls:
        return replace(found, content="")
    return found


def _found(content: str, tools: Collection[str], dialects: Sequence[str], *, cut: bool) -> TextCalls:
    reasoning, text = _thoughts(content)
    scan = _Scan.over(text if "hermes_json" in dialects else "", tools, cut=cut)
    if scan.calls:
        thought = scan.opening_thought()
        return TextCalls(tuple(scan.calls), scan.rest(), reasoning or thought, tuple(scan.rejected))
    # Whether something follows the fence is not known of a text that was cut.
    if "json_fenced" in dialects and not cut and (fenced := _fenced(text, tools)):
        return TextCalls((fenced[0],), fenced[1], reasoning)
    return TextCalls((), text, reasoning, tuple(scan.rejected))


def _thoughts(content: str) -> tuple[str, str]:
    """Closed reasoning at the head of a text, and the text without it."""
    head = _THOUGHTS.match(content)
    if head is None:
        return "", content
    return "\n".join(thought.strip() for thought in _THOUGHT.findall(head[0])), content[head.end() :]


def _fenced(text: str, tools: Collection[str]) -> tuple[TextCall, str] | None:
    """The call that a message consists of, and the paragraph before it."""
    lead, _, fenced = text.partition("```")
    info, _, rest = fenced.partition("\n")
    body, closer, after = rest.partition("```")
    if info.rstrip() not in {"json", "tool_call"} or not closer or after.strip():
        return None
    lines = lead.strip().splitlines()
    if not all(line.strip() for line in lines) or (lines and lead.rstrip(" \t")[-1] != "\n"):
        return None
    envelope = read(body, max_depth=_MAX_DEPTH).value_or(None)
    if not isinstance(envelope, Mapping) or set(envelope) != {"name", "arguments"}:
        return None
    call = _decoded(envelope, body.strip(), "json_fenced")
    return (call, lead.strip()) if call and call.name in tools else None


@dataclass(frozen=True, slots=True)
class _Scan:
    """One pass over a text for ``<tool_call>`` blocks, and what it has found so far."""

    text: str
    tools: Collection[str]
    cut: bool
    closers: Mapping[str, Sequence[int]]
    """Where each closing mark stands: searched for once, however many openers there are."""
    calls: list[TextCall] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    """Where the calls, and the debris of rejected ones, stand."""
    rejected: list[Rejection] = field(default_factory=list)

    @classmethod
    def over(cls, text: str, tools: Collection[str], *, cut: bool) -> _Scan:
        closers: dict[str, list[int]] = {}
        for closer in _CLOSER.finditer(text):
            closers.setdefault(closer[0].lower(), []).append(closer.start())
        scan = cls(text, tools, cut, closers)
        position = 0
        while mark := _MARK.search(text, position):
            position = scan.end_of_block(mark) if mark["open"] else scan.end_of_quotation(mark)
        return scan

    def rest(self) -> str:
        """The text outside the spans."""
        kept, start = [], 0
        for begin, end in self.spans:
            kept.append(self.text[start:begin].strip())
            start = end
        kept.append(self.text[start:].strip())
        return " ".join(part for part in kept if part.strip("\ufeff\u200b"))

    def opening_thought(self) -> str:
        """Reasoning that was never closed ends where the first call begins, and leaves the text."""
        opener = _THINK.match(self.text)
        if opener is None:
            return ""
        begin, end = self.spans[0]
        self.spans[0] = (0, end)
        return self.text[opener.end() : begin].strip()

    def after(self, closer: str, start: int) -> int | None:
        """Where the next closing mark of this kind ends."""
        places = self.closers.get(closer, ())
        index = bisect_left(places, start)
        return places[index] + len(closer) if index < len(places) else None

    def end_of_quotation(self, mark: re.Match[str]) -> int:
        """Where what opens here ends: to the end of the text if it is never closed.

        Inline code and reasoning that are never closed quote nothing, unless the text was cut:
        then their end may be among what is missing.
        """
        unclosed = len(self.text)
        match mark.lastgroup:
            case "fence":
                run = mark["fence"].strip()
                closing = re.compile(rf"^[ \t]{{0,3}}{run[0]}{{{len(run)},}}[ \t]*$", re.MULTILINE)
                close = closing.search(self.text, mark.end())
                return close.end() if close else unclosed
            case "comment":
                return self.after("-->", mark.end()) or unclosed
            case "response":
                return self.after("</tool_response>", mark.end()) or unclosed
            case _:
                closer = "</think>" if mark["think"] else mark[0]
                return self.after(closer, mark.end()) or (unclosed if self.cut else mark.end())

    def end_of_block(self, mark: re.Match[str]) -> int:
        """Take in one ``<tool_call>`` block, or pass it over; where it ends."""
        calls, end = _payload(self.text, mark.end(), self.tools)
        tail = _TAIL.match(self.text, end)
        if calls and tail:
            self.calls.extend(calls)
            self.spans.append((mark.start(), tail.end()))
            return tail.end()
        attempted, broken = _OPEN_BRACE.match(self.text, mark.end()), _OPEN_BRACE.match(self.text, end)
        # Where another block opens first, and not within broken JSON, this one was never closed.
        apart = not broken and _OPEN.match(self.text, end)
        close = end if apart else self.after("</tool_call>", end)
        if attempted or (self.cut and close is None):
            self.rejected.append("truncated" if close is None else "malformed")
            close = len(self.text) if close is None else close
            self.spans.append((mark.start(), close))
        return end if close is None else close


def _payload(text: str, start: int, tools: Collection[str]) -> tuple[list[TextCall], int]:
    """The calls that stand at ``start``, one object after another, and where they end."""
    calls: list[TextCall] = []
    while (value := _value_at(text, start)) is not None:
        tree, end = value
        call = _decoded(tree, text[start:end].strip(), "hermes_json") if isinstance(tree, Mapping) else None
        start = end
        if call is None:
            return [], end
        calls.append(call)
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
