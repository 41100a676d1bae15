"""Parse the tool calls that weak models, and servers without a tool parser, leave in the assistant's text.

Text also holds quotations. Therefore nothing inside a code fence, inline code, an HTML comment, a quoted
line, a tool response or closed reasoning is a call; a truncated call is not a call; and without calls
the content is returned unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from toolreel_core._jsontext import Json, as_tree, parse
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._text_calls.decoder_interface import (
    Made,
    Offered,
    Reading,
    RegionKind,
    Rejection,
    Source,
    Span,
    TextCall,
    TextCalls,
    rejected_reading,
)
from toolreel_core._text_calls.dialects import MARKED
from toolreel_core._text_calls.markers import (
    HEADLESS,
    OPENERS,
    SIGNS,
    SPECIAL,
    WRAPPER,
    calls_without_opener,
    marker_match_at,
)
from toolreel_core._text_calls.named_calls import start_of_header_words, start_of_preceding_name
from toolreel_core._text_calls.payloads import skip_blanks
from toolreel_core._text_calls.quotations import (
    THOUGHT_BEGIN,
    Quotations,
    is_quoted_from_earlier,
    leading_reasoning,
)
from toolreel_core._text_calls.surroundings import (
    introduces_an_example,
    is_escaped,
    is_in_a_sentence,
    is_quoted,
    lead_in_kind,
)
from toolreel_core._text_calls.whole_message import (
    WholeReader,
    begins_a_call,
    fenced_json_calls,
    functionary_calls,
    json_message_calls,
    name_and_json_call,
    python_list_calls,
    react_call,
    tool_code_calls,
    tool_tag_calls,
    without_template_tokens,
)

_BEGUN = lazy_pattern(r"(?:[^\S ]\s*|\s+name\s*=\s*)?\S{0,200}\Z")
"""So little text after an opener that, in a truncated text, a call may have begun."""
_TEXT = lazy_pattern(r"\S")
_LABEL = 200
"""Maximum number of characters before a call that are read as its label."""
_CLOSER = lazy_pattern(
    rf"\s*+(?:</[^<>\s]{{1,60}}>|<\|[^<>\s]{{0,60}}end\|>|{SPECIAL.pattern})", re.IGNORECASE
)
_REMOVED: Sequence[tuple[re.Pattern[str], RegionKind]] = ((WRAPPER, "wrapper"), (SPECIAL, "special"))
_NOT_OFFERED = frozenset({"quotation", "fabricated_result"})
"""Reasons for which nothing is an unread call of the model."""


def _calls_with_original_text(calls: Sequence[TextCall], text: str) -> list[TextCall]:
    return [replace(call, original=call.arguments if len(calls) > 1 else text) for call in calls]


def _call_names_text(calls: Sequence[TextCall]) -> str:
    return ", ".join(f"{call.name} ({call.dialect})" for call in calls)


class Scan:
    def __init__(self, source: Source, earlier: Iterable[str], *, nested: bool) -> None:
        self.source, self.quotations = source, Quotations.of(source)
        self.earlier = earlier
        """Earlier texts: a call that one of them contains verbatim is a quotation."""
        self.nested = nested
        """Whether the text is a quotation that is searched for a call to report."""
        self.calls: list[TextCall] = []
        self.spans: list[Span] = []
        self.reasoning: list[str] = []
        self.rejected: list[Rejection] = []
        self.unread: list[str] = []
        """The texts of the calls among what was rejected."""
        self._head = 0
        """Where the group of calls and tags begins of which the last span is one."""
        self._before = 0
        """End of the span before that group, from which on text may be its label."""
        self._edge = 0
        """End of the last call, frame or token, after which the current message begins."""

    def read_call_without_opener(self) -> int:
        for key in HEADLESS:
            enabled = not self.source.enabled.isdisjoint(OPENERS[key].dialects)
            if enabled and (reading := calls_without_opener(self.source, key)):
                self._take_calls(0, reading)
                return reading.end
        return 0

    def read_marker(self, start: int) -> int:
        mark = marker_match_at(self.source.text, start)
        if mark is None:
            return start + 1
        kind = mark.lastgroup or ""
        if kind in OPENERS:
            opener, reading = OPENERS[kind], None
            if not self.source.enabled.isdisjoint(opener.dialects):
                reading = opener.decoder(self.source, mark.start(), mark.end())
                if reading is None and self.source.cut and _BEGUN.match(self.source.text, mark.end()):
                    reading = rejected_reading("truncated", len(self.source.text))
            begin = mark.start()
            if kind == "addressed":  # some openers are preceded by part of a header
                begin = start_of_header_words(self.source.text, begin)
            elif kind == "inkling":
                begin = start_of_preceding_name(self.source.text, begin, reading)
            return self._take_reading(mark, reading, begin)
        if kind in {"special", "wrapper"}:
            self._add_span(mark.start(), mark.end(), "special" if kind == "special" else "wrapper")
            return mark.end()
        if kind == "result" and (self.calls or not mark[0].startswith("<")):
            # These openers have no closer, so without a call before them they quote nothing.
            if not self.calls:
                return mark.end()
            # The model invented a tool result: everything from here on is based on it, and is ignored.
            self._add_span(mark.start(), len(self.source.text), "debris", ["fabricated_result"])
            return len(self.source.text)
        region = self.quotations.region_of_opener(mark, kind)
        if region is None:
            return mark.end()
        self._add_span(mark.start(), region.end, "quotation")
        if not region.certain and not self.nested:
            # Its end is not certain: a call that is not quoted on its own may be hidden in it.
            inside = replace(self.source, text=self.source.text[mark.end() : region.end])
            if scan_for_calls(inside, self.earlier, nested=True).calls:
                self.rejected.append("quotation")
        return region.end

    def _take_reading(self, mark: re.Match[str], reading: Reading | None, start: int) -> int:
        text = self.source.text
        if reading and reading.calls:
            if fence := self.quotations.fence_left_open(start, reading.end):
                # A tag that prose only named seemed to open a call, which then ended inside a fence.
                self._add_span(start, fence.end, "quotation", ["quotation"])
                return fence.end
            self._take_calls(start, reading)
            return reading.end
        if reading and reading.is_framing:
            first = self.source.search(_TEXT, self._edge)
            # Only tokens may be between framing and the message before.
            if first and first.start() >= start:
                self.reasoning.append(reading.reasoning)
                self._add_span(start, reading.end, "frame", reading.rejected)
                return reading.end
        if reading is None or not reading.rejected or is_escaped(text, start):
            return self._skip_marker(mark)
        fence = self.quotations.fence_left_open(start, reading.end)
        end = fence.end if fence else reading.end
        self._add_span(start, end, "debris", reading.rejected)
        return end

    def _take_calls(self, start: int, reading: Reading) -> None:
        end, text = reading.end, self.source.text[start : reading.end].rstrip()
        self._begin_group(start)
        head = self._head
        # A label such as "Example:", before the call or before what it stands next to.
        shown = introduces_an_example(self.source.text[max(self._before, head - _LABEL) : head])
        quoted = shown or is_quoted(self.source, start, start + len(text), head)
        if quoted or is_quoted_from_earlier(text.strip(), self.earlier):
            self._add_span(start, end, "quotation", ["quotation"])
        elif self._is_in_a_sentence(start, end, head):
            self._add_span(start, end, "quotation", ["mentioned"])
        else:
            self.calls.extend(_calls_with_original_text(reading.calls, text.strip()))
            self._add_span(start, end, "call", reading.rejected, _call_names_text(reading.calls))

    def _skip_marker(self, mark: re.Match[str]) -> int:
        """A marker without a call is text, or a wrapper or token that is removed next to a call."""
        for pattern, kind in _REMOVED:
            if token := pattern.match(self.source.text, mark.start()):
                self._add_span(mark.start(), token.end(), kind)
                return token.end()
        self._add_span(mark.start(), mark.end(), "prose")
        return mark.end()

    def _is_in_a_sentence(self, start: int, end: int, head: int) -> bool:
        """Whether prose goes on in the line of a call, so that it may be a quotation."""
        text = self.source.text
        begin = max(text.rfind("\n", 0, head) + 1, head - _LABEL, self._edge)
        while mark := _CLOSER.match(text, end):
            end = mark.end()
        behind = text[end : end + _LABEL].partition("\n")[0].strip()
        return is_in_a_sentence(text[begin:head] if start == head else "", behind)

    def _begin_group(self, start: int) -> None:
        """Begin a group of calls and tags, unless only blanks are between this place and the one before."""
        last = self.spans[-1] if self.spans else None
        if (
            last is None
            or last.kind == "prose"
            or (last.kind == "quotation" and not last.about)
            or not _is_blank(self.source.text[last.end : start])
        ):
            self._head, self._before = start, last.end if last else 0

    def _add_span(
        self, start: int, end: int, kind: RegionKind, rejected: Sequence[Rejection] = (), about: str = ""
    ) -> None:
        self._begin_group(start)
        self.spans.append(Span(start, end, kind, about or "".join(rejected[-1:])))
        self.rejected.extend(rejected)
        self.unread.extend(self.source.text[start:end] for why in rejected if why not in _NOT_OFFERED)
        if kind in {"call", "frame", "special"}:
            self._edge = end


def scan_for_calls(source: Source, earlier: Iterable[str] = (), *, nested: bool = False) -> Scan:
    found = Scan(source, earlier, nested=nested)
    position = found.quotations.end_of_quoted_head() or found.read_call_without_opener()
    while mark := SIGNS.search(source.text, position):
        position = found.read_marker(mark.start())
    return found


# A closer that was cut (JustVugg/colibri#505) or another opener that was begun (FlashML-org/FreeToken#346).
_UNFINISHED = lazy_pattern(r"\s*(?:<[/|｜‖a-z][^<>\s]{0,40}|\[(?:/|END_)\w{0,20})\Z")


def text_beside_calls(scan: Scan) -> tuple[str, str]:
    """The text outside the calls, which is unchanged without calls and frames, and the reasoning in it."""
    said = "\n".join(filter(None, scan.reasoning))
    if not scan.calls:
        frames = [span for span in scan.spans if span.kind in {"frame", "special"}]
        framed = any(span.kind == "frame" for span in frames)
        return _text_outside(scan.source.text, frames) if framed else scan.source.text, said
    # Wrapper tags are removed only next to a call or its debris, since prose may mention them.
    removed: list[Span] = []
    group: list[Span] = []
    for span in scan.spans:
        if span.kind in {"quotation", "prose"}:
            continue
        if group and not _is_blank(scan.source.text[group[-1].end : span.start]):
            removed.extend(_removable_spans(group))
            group = []
        group.append(span)
    rest = Span(group[-1].end, len(scan.source.text), "debris") if group else None
    if rest and _UNFINISHED.match(scan.source.text, rest.start):
        group.append(rest)
    removed.extend(_removable_spans(group))
    opening = THOUGHT_BEGIN.match(scan.source.text)  # of reasoning that is never closed
    if opening and opening.end() <= removed[0].start:
        said = "\n".join(filter(None, (scan.source.text[opening.end() : removed[0].start].strip(), said)))
        removed[0] = Span(0, removed[0].end, "debris")
    return _text_outside(scan.source.text, removed), said


def _removable_spans(group: Sequence[Span]) -> list[Span]:
    beside_call = any(span.kind in {"call", "debris", "frame"} for span in group)
    return [span for span in group if beside_call or span.kind == "special"]


def _text_outside(text: str, spans: Sequence[Span]) -> str:
    parts: list[str] = []
    start = 0
    for span in spans:
        parts.append(text[start : span.start])
        start = span.end
    parts.append(text[start:])
    return " ".join(part.strip() for part in parts if not _is_blank(part))


def _is_blank(text: str) -> bool:
    return skip_blanks(text, 0) == len(text)


# A call in text is short; the limit bounds what a hostile text costs, to less than half a second.
_MAX_BYTES = 256 * 1024

_BARE: Sequence[tuple[tuple[str, ...], WholeReader]] = (
    (("llama_json", "json_envelope", "json_array"), json_message_calls),
    (("cohere_action_fence", "json_fenced"), fenced_json_calls),
    (("glm4_name_json",), name_and_json_call),
    (("functionary_v32",), functionary_calls),
    (("react",), react_call),
    (("pythonic_list",), python_list_calls),
    (("tool_code_fence",), tool_code_calls),
    (("tool_tag_xml",), tool_tag_calls),
)
"""The readers of bare dialects, the strictest first: the first that accepts a message wins."""

# Pairs of letters: counts are only compared with each other, so words need not be told apart.
_WORD = lazy_pattern(r"[^\W\d_]{2}")
_SECTIONS = ">>>"
"""Functionary's sections: what the model says to the user in one is not a lead-in."""
_JSON = ("llama_json", "json_envelope", "json_array", "json_fenced")


def text_calls(
    content: str,
    *,
    tools: Collection[str],
    dialects: Collection[str],
    finish: str,
    schemas: Mapping[str, Json] | None = None,
    earlier: Iterable[str] = (),
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
    found = found if made is None else _without_succeeded_calls(found, content, made)
    # Removing calls may join the text around them into another call; such a remainder is never returned,
    # because it would be read as a call on the next turn, as part of a history that no limit has cut.
    rest = replace(source, text=found.content, cut=source.cut and not found.calls)
    if found.content != content and _calls_in_source(rest, earlier).calls:
        return replace(found, content="" if found.calls else content)
    return found


def _without_succeeded_calls(found: TextCalls, content: str, made: Made) -> TextCalls:
    """The calls without those that have succeeded before, if the text around them reports them."""
    calls = tuple(call for call in found.calls if not made(call.name, as_tree(parse(call.arguments))))
    if len(calls) == len(found.calls):
        return found
    thought = leading_reasoning(content)
    first = next((span.start for span in found.spans if span.kind == "call"), 0)
    before, words = content[thought.end : first], len(_WORD.findall(found.content))
    # Words behind the call, or words before it that do not announce it, report it.
    goes_on = words > len(_WORD.findall(before))
    if not words or not (goes_on or lead_in_kind(found.content) != "announced"):
        return found
    rejected: tuple[Rejection, ...] = (*found.rejected, "mentioned")
    if calls:
        return replace(found, calls=calls, rejected=rejected)
    return TextCalls((), content[thought.end :], thought.text, rejected, found.unread, found.spans)


def _calls_in_source(whole_text: Source, earlier: Iterable[str]) -> TextCalls:
    content, cut = whole_text.text, whole_text.cut
    thought = leading_reasoning(content, cut=cut)
    source = replace(whole_text, text=content[thought.end :])
    message = without_template_tokens(source.text)
    # No bare dialect is read in a truncated message, so without this its beginning would be an answer.
    if cut and not source.enabled.isdisjoint(_JSON) and begins_a_call(replace(source, text=message)):
        return TextCalls((), source.text, thought.text, ("truncated",))
    # Bare dialects come first: in a message that is one call, markers inside its arguments are data.
    whole_span = Span(thought.end, len(content), "call")
    if whole := _calls_of_whole_message(source, message, thought.text, whole_span, earlier):
        return whole
    if source.enabled.isdisjoint(MARKED):
        return TextCalls((), source.text, thought.text)
    marked = scan_for_calls(source, earlier)
    rest, said = text_beside_calls(marked)
    reasoning = "\n".join(filter(None, (thought.text, said)))
    # Framing, such as Harmony's final channel, may be around a bare call.
    unframed = not marked.calls and rest != source.text
    if unframed and (whole := _calls_of_whole_message(source, rest, reasoning, whole_span, earlier)):
        return whole
    behind = thought.end
    spans = [replace(span, start=span.start + behind, end=span.end + behind) for span in marked.spans]
    return TextCalls(
        _with_distinct_ids(marked.calls),
        rest,
        reasoning,
        tuple(marked.rejected),
        tuple(marked.unread),
        tuple(spans),
    )


def _calls_of_whole_message(
    source: Source, text: str, reasoning: str, span: Span, earlier: Iterable[str]
) -> TextCalls | None:
    """The reading of the first bare dialect that accepts the whole message, which is this span.

    Rejected are quotations of earlier text, a message with a marked call before the bare one, one whose
    lead-in shows an example, and truncated messages, of which nobody knows how they would have gone on.
    """
    if source.cut or is_quoted_from_earlier(text, earlier):
        return None
    message = replace(source, text=text)
    readers = (reader for dialects, reader in _BARE if not source.enabled.isdisjoint(dialects))
    whole = next((whole for reader in readers if (whole := reader(message))), None)
    before = f"{whole.content}\n{whole.reasoning}" if whole else ""
    if whole is None or scan_for_calls(replace(source, text=before)).calls:
        return None
    kind = "announced" if text.startswith(_SECTIONS) else lead_in_kind(whole.content)
    if kind == "shown":
        return None
    if kind == "unclear":
        whole = TextCalls((), text, rejected=("quotation",))
    return replace(
        whole,
        calls=_with_distinct_ids(_calls_with_original_text(whole.calls, text)),
        reasoning="\n".join(filter(None, (reasoning, whole.reasoning))),
        spans=(replace(span, about=_call_names_text(whole.calls)),),
    )


def _with_distinct_ids(calls: Sequence[TextCall]) -> tuple[TextCall, ...]:
    """The calls; of several with the same id, only the first keeps it."""
    seen: set[str] = set()
    kept: list[TextCall] = []
    for call in calls:
        kept.append(replace(call, id="") if call.id in seen else call)
        seen.add(call.id)
    return tuple(kept)
