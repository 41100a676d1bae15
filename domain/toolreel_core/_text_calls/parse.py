"""Parse the tool calls that a model writes as text.

Weak models, and servers without a tool parser, leave calls in the assistant's text. The marked dialects
(``MARKED``) are safe to enable all at once, and a run reads them by default; the bare ones (``BARE``) are for
models that are known to write so.

Text also holds quotations. Therefore nothing inside a code fence, inline code, an HTML comment, a quoted
line, a tool response or closed reasoning is a call; a truncated call is not a call; and without calls
the content is returned unchanged.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from toolreel_core._jsontext import Json, as_tree, parse
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._text_calls.decoder_interface import (
    Made,
    Offered,
    Rejection,
    Source,
    Span,
    TextCall,
    TextCalls,
)
from toolreel_core._text_calls.dialects import MARKED
from toolreel_core._text_calls.quotations import was_said
from toolreel_core._text_calls.reasoning import thoughts
from toolreel_core._text_calls.scanner import remainder, scan
from toolreel_core._text_calls.surroundings import lead_in
from toolreel_core._text_calls.whole_message import (
    WholeReader,
    begins_a_call,
    functionary,
    json_fence,
    json_message,
    name_and_json,
    python_list,
    react,
    tool_code,
    tool_tags,
    without_tokens,
)

# A call in text is short; the limit bounds the time that a hostile text can cost.
_MAX_BYTES: Final = 256 * 1024

_BARE: Final[Sequence[tuple[frozenset[str], WholeReader]]] = (
    (frozenset({"llama_json", "json_envelope", "json_array"}), json_message),
    (frozenset({"cohere_action_fence", "json_fenced"}), json_fence),
    (frozenset({"glm4_name_json"}), name_and_json),
    (frozenset({"functionary_v32"}), functionary),
    (frozenset({"react"}), react),
    (frozenset({"pythonic_list"}), python_list),
    (frozenset({"tool_code_fence"}), tool_code),
    (frozenset({"tool_tag_xml"}), tool_tags),
)
"""The readers of bare dialects, the strictest first: the first that accepts a message wins."""

_WORD: Final = lazy_pattern(r"[^\W\d_]{2}")
_SECTIONS: Final = ">>>"
"""Functionary's sections: what the model says to the user in one is no lead-in."""
_JSON: Final = frozenset({"llama_json", "json_envelope", "json_array", "json_fenced"})


def text_calls(
    content: str,
    *,
    tools: Collection[str],
    dialects: Collection[str],
    finish: str,
    schemas: Mapping[str, Json] | None = None,
    earlier: Sequence[str] = (),
    made: Made | None = None,
) -> TextCalls:
    """Parse the calls in a text.

    >>> text = 'One moment.<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
    >>> text_calls(text, tools=["ping"], dialects=["hermes_json"], finish="stop").calls[0].name
    'ping'
    >>> text_calls("Use `<tool_call>`.", tools=["ping"], dialects=["hermes_json"], finish="stop").content
    'Use `<tool_call>`.'

    :param content: a text of more than 256 KiB is not searched
    :param tools: names of the tools that exist
    :param dialects: names out of :data:`DIALECTS`
    :param finish: the reply's finish reason; after ``length`` an unfinished call counts as truncated
    :param schemas: JSON Schema of the arguments of each tool, which gives untyped text its types
    :param earlier: tool results and user messages of the run; a call that stands there word by word
        is a quotation
    :param made: the calls that have succeeded; one of them in the prose of an answer is reported, not made
    """
    if len(content.encode("utf-8", "surrogatepass")) > _MAX_BYTES:
        if not dialects:
            return TextCalls((), content)
        whole = Span(0, len(content), "debris", "too_large")
        return TextCalls((), content, rejected=("too_large",), spans=(whole,))
    source = Source(
        content, Offered(frozenset(tools), schemas or {}), frozenset(dialects), finish == "length"
    )
    found = _calls_in_source(source, earlier)
    found = found if made is None else _without_reported_calls(found, content, made)
    # Removing calls may join the text around them into another call; such a remainder is never returned,
    # because it would be read as a call on the next turn.
    if found.calls and _calls_in_source(replace(source, text=found.content, cut=False), earlier).calls:
        return replace(found, content="")
    if found.content != content and _calls_in_source(replace(source, text=found.content), earlier).calls:
        return replace(found, content=content)
    return found


def _without_reported_calls(found: TextCalls, content: str, made: Made) -> TextCalls:
    """The calls without those that have succeeded before, if the text around them reports them."""
    calls = tuple(call for call in found.calls if not made(call.name, as_tree(parse(call.arguments))))
    if len(calls) == len(found.calls):
        return found
    thought = thoughts(content)
    first = next((span.start for span in found.spans if span.kind == "call"), 0)
    before, words = content[thought.end : first], len(_WORD.findall(found.content))
    goes_on = words > len(_WORD.findall(before))
    if not words or not (goes_on or lead_in(found.content) != "announced"):
        return found
    rejected: tuple[Rejection, ...] = (*found.rejected, "mentioned")
    if calls:
        return replace(found, calls=calls, rejected=rejected)
    return TextCalls((), content[thought.end :], thought.text, rejected, found.unread, found.spans)


def _calls_in_source(whole_text: Source, earlier: Sequence[str]) -> TextCalls:
    content, cut = whole_text.text, whole_text.cut
    thought = thoughts(content, cut=cut)
    source = replace(whole_text, text=content[thought.end :])
    message = without_tokens(source.text)
    if cut and not _JSON.isdisjoint(source.enabled) and begins_a_call(replace(source, text=message)):
        return TextCalls((), source.text, thought.text, ("truncated",))
    # Bare dialects come first: in a message that is one call, markers inside its arguments are data.
    if whole := _whole_message(source, message, earlier):
        return _calls_of_whole(whole, message, (thought.text,), Span(thought.end, len(content), "call"))
    if source.enabled.isdisjoint(MARKED):
        return TextCalls((), source.text, thought.text)
    marked = scan(source, earlier)
    rest, reasoning = remainder(marked)
    if not marked.calls and rest != source.text and (whole := _whole_message(source, rest, earlier)):
        return _calls_of_whole(
            whole, rest, (thought.text, reasoning), Span(thought.end, len(content), "call")
        )
    spans = marked.spans
    if thought.end:
        spans = [replace(span, start=span.start + thought.end, end=span.end + thought.end) for span in spans]
    return TextCalls(
        _with_distinct_ids(marked.calls),
        rest,
        "\n".join(part for part in (thought.text, reasoning) if part),
        tuple(marked.rejected),
        tuple(marked.unread),
        tuple(spans),
    )


def _whole_message(source: Source, text: str, earlier: Sequence[str]) -> TextCalls | None:
    """The reading of the first bare dialect that accepts the whole message.

    Rejected are quotations of earlier text, a message with a marked call before the bare one, one whose
    lead-in shows an example, and truncated messages, of which nobody knows how they would have gone on.
    """
    if source.cut or was_said(text, earlier):
        return None
    message = replace(source, text=text)
    readers = (reader for dialects, reader in _BARE if not source.enabled.isdisjoint(dialects))
    whole = next((whole for reader in readers if (whole := reader(message))), None)
    before = f"{whole.content}\n{whole.reasoning}" if whole else ""
    if whole is None or scan(replace(source, text=before)).calls:
        return None
    kind = "announced" if text.startswith(_SECTIONS) else lead_in(whole.content)
    if kind == "unclear":
        return TextCalls((), text, rejected=("quotation",))
    return whole if kind == "announced" else None


def _calls_of_whole(whole: TextCalls, text: str, thought: tuple[str, ...], span: Span) -> TextCalls:
    about = ", ".join(f"{call.name} ({call.dialect})" for call in whole.calls)
    several = len(whole.calls) > 1
    calls = [replace(call, original=call.arguments if several else text) for call in whole.calls]
    return replace(
        whole,
        calls=_with_distinct_ids(calls),
        reasoning="\n".join(part for part in (*thought, whole.reasoning) if part),
        spans=(replace(span, about=about),),
    )


def _with_distinct_ids(calls: Sequence[TextCall]) -> tuple[TextCall, ...]:
    """The calls; of several with the same id, only the first keeps it."""
    seen: set[str] = set()
    kept: list[TextCall] = []
    for call in calls:
        kept.append(replace(call, id="") if call.id in seen else call)
        seen.add(call.id)
    return tuple(kept)
