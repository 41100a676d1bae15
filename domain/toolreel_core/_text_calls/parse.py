"""Tool calls that a model writes as text.

Weak models, and servers without a tool parser, leave calls in the assistant's text. Reading them
back is opt-in, by dialect: the marked ones (:data:`~toolreel_core._text_calls.catalogue.MARKED`) are safe
to enable all at once, the bare ones (:data:`~toolreel_core._text_calls.catalogue.BARE`) are for models that
are known to write so.

Text is also where quotations stand, so: what is inside a code fence, inline code, an HTML comment,
a quoted line, a tool response or closed reasoning is never a call; a call that was cut is never a
call; and when there is no call, the content is what came.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from toolreel_core._jsontext.canonical import Json, JsonText
from toolreel_core._text_calls.catalogue import DIALECTS
from toolreel_core._text_calls.decoder import Found, Rejection
from toolreel_core._text_calls.known_tools import Offered
from toolreel_core._text_calls.quotations import was_said
from toolreel_core._text_calls.reasoning import Thoughts, thoughts
from toolreel_core._text_calls.remainder import Remainder, remainder
from toolreel_core._text_calls.scanner import Scan, Span, scan
from toolreel_core._text_calls.source import Source
from toolreel_core._text_calls.whole_message.code import python_list, tool_code
from toolreel_core._text_calls.whole_message.json_message import (
    action_fence,
    begins_a_call,
    json_fence,
    json_message,
)
from toolreel_core._text_calls.whole_message.reader import Whole, WholeReader, without_tokens
from toolreel_core._text_calls.whole_message.tags import tool_tags
from toolreel_core._text_calls.whole_message.text import functionary, name_and_json, react

__all__ = ["DIALECTS", "Rejection", "Span", "TextCall", "TextCalls", "text_calls"]

_MAX_BYTES: Final = 256 * 1024

_BARE: Final[Sequence[tuple[frozenset[str], WholeReader]]] = (
    (frozenset({"llama_json", "json_envelope", "json_array"}), json_message),
    (frozenset({"cohere_action_fence"}), action_fence),
    (frozenset({"json_fenced"}), json_fence),
    (frozenset({"glm4_name_json"}), name_and_json),
    (frozenset({"functionary_v32"}), functionary),
    (frozenset({"react"}), react),
    (frozenset({"pythonic_list"}), python_list),
    (frozenset({"tool_code_fence"}), tool_code),
    (frozenset({"tool_tag_xml"}), tool_tags),
)
"""Who reads the messages of the bare dialects."""

_JSON: Final = frozenset({"llama_json", "json_envelope", "json_array", "json_fenced"})


@dataclass(frozen=True, slots=True)
class TextCall:
    """A call that was found in text."""

    name: str
    arguments: JsonText
    original: str
    """The text that it was read from; its arguments alone where that text holds several calls."""
    dialect: str
    id: str = ""
    """The id that the model gave it; empty if it gave none, or one that another call has."""


@dataclass(frozen=True, slots=True)
class TextCalls:
    """What a text holds besides text."""

    calls: tuple[TextCall, ...]
    content: str
    """The text outside the calls; without calls, the text as it came, less closed reasoning."""
    reasoning: str = ""
    rejected: tuple[Rejection, ...] = ()
    """Why things that looked like calls were left alone."""
    spans: tuple[Span, ...] = field(default=(), compare=False)
    """What was found where, in characters of the text, for people who ask why."""


def text_calls(
    content: str,
    *,
    tools: Collection[str],
    dialects: Collection[str],
    finish: str,
    schemas: Mapping[str, Json] | None = None,
    earlier: Sequence[str] = (),
) -> TextCalls:
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
    :param schemas: JSON Schema of the arguments of each tool, which gives untyped text its types
    :param earlier: tool results and user messages of the run; a call that stands there word by word
        is a quotation
    """
    if len(content.encode("utf-8", "surrogatepass")) > _MAX_BYTES:
        return TextCalls((), content, rejected=("too_large",) if dialects else ())
    offered = Offered(frozenset(tools), schemas or {})
    reader = _Reader(offered, frozenset(dialects), earlier)
    found = reader.read(content, cut=finish == "length")
    # What stood apart may read as one more call once the calls between are gone: it is not handed out.
    if found.calls and reader.read(found.content, cut=False).calls:
        return replace(found, content="")
    if found.content != content and reader.read(found.content, cut=finish == "length").calls:
        return replace(found, content=content)
    return found


@dataclass(frozen=True, slots=True)
class _Reader:
    offered: Offered
    enabled: frozenset[str]
    earlier: Sequence[str]

    def read(self, content: str, *, cut: bool) -> TextCalls:
        thought = thoughts(content)
        source = Source(content[thought.end :], self.offered, self.enabled, cut)
        message = without_tokens(source.text)
        if cut and self.enabled.intersection(_JSON) and begins_a_call(replace(source, text=message)):
            return TextCalls((), source.text, thought.text, ("truncated",))
        # A message that is a call as a whole opens first: marks in its arguments are data.
        if whole := self._whole(source, message):
            return _of_whole(whole, message, (thought.text,), Span(thought.end, len(content), "call"))
        marked = scan(source, self.earlier)
        rest = remainder(marked)
        if not marked.calls and rest.content != source.text and (whole := self._whole(source, rest.content)):
            reasoning = (thought.text, rest.reasoning)
            return _of_whole(whole, rest.content, reasoning, Span(thought.end, len(content), "call"))
        return _of_scan(marked, rest, thought)

    def _whole(self, source: Source, text: str) -> Whole | None:
        """What the first bare dialect makes of a message; one that was there before is quoted.

        Where a marked call opens before it, it is not the whole of the message.
        Of a message that was cut nobody knows whether it would have been all of it.
        """
        if source.cut or was_said(text, self.earlier):
            return None
        message = replace(source, text=text)
        readers = (reader for dialects, reader in _BARE if not self.enabled.isdisjoint(dialects))
        whole = next((whole for reader in readers if (whole := reader(message))), None)
        before = f"{whole.content}\n{whole.reasoning}" if whole else ""
        return None if scan(replace(source, text=before)).calls else whole


def _of_whole(whole: Whole, text: str, thought: tuple[str, ...], span: Span) -> TextCalls:
    reasoning = "\n".join(part for part in (*thought, whole.reasoning) if part)
    about = ", ".join(f"{call.name} ({call.dialect})" for call in whole.calls)
    several = len(whole.calls) > 1
    calls = _distinct([(call, call.arguments if several else text) for call in whole.calls])
    return TextCalls(calls, whole.content, reasoning, whole.rejected, (replace(span, about=about),))


def _of_scan(marked: Scan, rest: Remainder, thought: Thoughts) -> TextCalls:
    reasoning = "\n".join(part for part in (thought.text, rest.reasoning) if part)
    spans = marked.spans
    if thought.end:
        spans = [replace(span, start=span.start + thought.end, end=span.end + thought.end) for span in spans]
    return TextCalls(_distinct(marked.calls), rest.content, reasoning, tuple(marked.rejected), tuple(spans))


def _distinct(calls: Sequence[tuple[Found, str]]) -> tuple[TextCall, ...]:
    """The calls, in which only the first of several with the same id keeps it."""
    seen: set[str] = set()
    kept: list[TextCall] = []
    for call, text in calls:
        call_id = "" if call.id in seen else call.id
        seen.add(call.id)
        kept.append(TextCall(call.name, call.arguments, text, call.dialect, call_id))
    return tuple(kept)
