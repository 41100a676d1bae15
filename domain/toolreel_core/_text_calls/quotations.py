"""Quotations: parts of a text in which no call is read, such as code, comments, quoted lines and results.

Whichever opens first wins: a fence inside an open call is data of the call, and a call inside an open fence
is a quotation. But prose may only name a tag. Fences are found first, therefore: a closer that is in code
does not end what was opened in the prose before, and the code goes on.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, TypeAlias, runtime_checkable

from toolreel_core._jsontext import quote
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._text_calls.decoder_interface import Offered, Source
from toolreel_core._text_calls.surroundings import is_in_indented_code, is_quoted

_RUN = lazy_pattern("`+")
_MARK = lazy_pattern("`+|~{3,}")
# Markdown allows blanks, `>` and a list marker before a fence. The look-behind is bounded, for speed.
_LINE_LEAD = lazy_pattern(r"(?:^|\n)[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?\Z")
_REACH = 60
"""Characters before a fence that are searched for the start of its line."""
_PARAGRAPH_END = lazy_pattern(r"\n(?=[ \t\r]*\n)")
"""The end of a paragraph, which inline code cannot cross."""
_FENCE_LINE = lazy_pattern(r"^[ \t>]*(?P<mark>`{3,}|~{3,})(?:(?P<bare>[^\S\n]*)|[^\n]*)$", re.MULTILINE)
"""A line with a fence; only one with nothing behind its mark closes a fence."""
# Each opener searches so far again: without this and the limits below, openers alone take quadratic time.
_NESTED = 40
"""Maximum number of lines with a mark that are searched for the end of a fence."""
_FenceLine: TypeAlias = tuple[int, int, str, bool]
"""Start, end and mark of a line with a fence, and whether nothing is behind the mark."""


@dataclass(frozen=True, slots=True)
class Region:
    start: int
    end: int
    certain: bool = True
    """Whether its end is where every reader of the text would see it."""
    closed: bool = True
    """Whether it has a closer; if not, it extends to the end of the text."""


_ELEMENTS = (
    "code|pre|samp|kbd|tt|xmp|listing|plaintext|textarea|blockquote|q|td|th|script|style|template|noscript"
    "|examples?|syntaxhighlight|nowiki|source"
)
QUOTATION_OPENERS = {
    "ticks": "`+",
    "tildes": "~{3,}",
    "blockquote": r"\n[ \t]{0,3}>(?!>>)",
    "comment": "<!--",
    "element": rf"<(?:{_ELEMENTS})(?:\s[^<>]{{0,200}})?>|<!\[CDATA\[",
    # Code in LaTeX, Org and forums.
    "listing": r"\\begin\{(?:verbatim|lstlisting|minted|alltt)\*?\}|#\+begin_(?:src|example|quote)\b"
    r"|\[(?:code|quote)\]",
}
_ANY = lazy_pattern(
    "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in QUOTATION_OPENERS.items()), re.IGNORECASE
)
_NAME = lazy_pattern(r"\w+")
_TAG_NAME = lazy_pattern(r"<(\w+)")
_TAGS = 50
"""Maximum number of tags of one name that are searched for elements within an element."""
_CLOSERS = 10
"""Maximum number of closers in code that are passed over."""
_CODE = frozenset({"ticks", "tildes", "blockquote"})
"""Openers that prose does not name by chance."""
_CALL_TAG = lazy_pattern(
    r"<(?P<close>/?)(?:\w{1,20}[:_|])?(?:tool_?calls?|tool_use|function(?:_?calls?)?|invoke)\b", re.IGNORECASE
)
_QUOTED_LINE = lazy_pattern(r"[ \t]{0,3}>(?!>>)")
"""A quoted line; ``>>>`` is Python's prompt."""
# Markdown allows three blanks before a block of HTML.
_HEAD_OF_LINE = lazy_pattern(r"(?:\A|\n)[ ]{0,3}\Z")


@dataclass(frozen=True, slots=True)
class Quotations:
    source: Source
    runs: Mapping[int, Sequence[int]]
    """Offsets of runs of backticks by length: code within a line ends with a run of the same length."""
    lines: Sequence[_FenceLine]
    closers: Sequence[int]

    @classmethod
    def of(cls, source: Source) -> Quotations:
        runs = defaultdict[int, list[int]](list)
        for run in _RUN.finditer(source.text):
            runs[len(run[0])].append(run.start())
        lines = [
            (line.start(), line.end(), line["mark"], line["bare"] is not None)
            for line in _FENCE_LINE.finditer(source.text)
        ]
        return cls(source, runs, lines, [start for start, _, _, bare in lines if bare])

    def code_opened_at(self, start: int, end: int) -> Region | None:
        text = self.source.text
        if end - start >= 3 and _LINE_LEAD.search(text, max(0, start - _REACH), start):
            # Backticks with another one behind them in their line open code within the line (CommonMark).
            stop = text.find("\n", end)
            if text[start] == "~" or text.find("`", end, stop if stop >= 0 else len(text)) < 0:
                return self._fenced_region(start, end)
        if text[start] != "`":
            return None
        # Code within a line, or within its paragraph; an unmatched run quotes nothing (CommonMark).
        places = self.runs[end - start]
        index = bisect_left(places, end)
        paragraph = self.source.search(_PARAGRAPH_END, end)
        stop = paragraph.start() if paragraph else len(text)
        if index < len(places) and places[index] < stop:
            return Region(start, places[index] + end - start)
        return Region(start, stop, closed=False) if self.source.cut and paragraph is None else None

    def region_around(self, place: int, openers: re.Pattern[str], since: int = 0) -> Region | None:
        """The quotation that a place is in, as far as no call is open there.

        :param openers: of all quotations, or of code alone
        """
        at = since
        while mark := openers.search(self.source.text, at, place):
            region = self.region_of_opener(mark, mark.lastgroup or "")
            if region and region.end > place:
                return region
            at = region.end if region else mark.end()
        return None

    def fence_left_open(self, start: int, end: int) -> Region | None:
        """The fence that a part of the text opens, and that only what follows closes."""
        # A line that begins with a mark counts even if more follows: DeepSeek closes its fence so.
        first, last = bisect_left(self.lines, (start,)), bisect_left(self.lines, (end,))
        if (last - first) % 2 == 0:
            return None
        opener = self.lines[last - 1][2]
        for _, stop, mark, bare in self.lines[last : last + _NESTED]:
            if bare and mark.startswith(opener):
                return Region(start, stop, certain=False)
        return None

    def _fenced_region(self, start: int, end: int) -> Region:
        """A fence; one that is opened again inside, with a language, may quote one more.

        Markdown knows no fence within a fence of the same length, but models write it. Where both readings
        have an end, the later end counts, and the region is not certain.
        """
        text = self.source.text
        first = depth = 0
        behind, closer = bisect_left(self.lines, (end,)), bisect_left(self.closers, end)
        window = self.lines[behind : behind + _NESTED]
        # Without a closer among them, as in a text of openers only, there is nothing to count.
        closes = window and closer < len(self.closers) and self.closers[closer] <= window[-1][0]
        for _, stop, mark, bare in window if closes else ():
            if not mark.startswith(text[start:end]):
                continue
            if not bare:
                depth += 1
                continue
            first = first or stop
            if depth == 0:
                return Region(start, stop, certain=stop == first)
            depth -= 1
        if first and not self.source.cut:
            return Region(start, first)
        return Region(start, len(text), certain=False, closed=False)

    def region_of_opener(self, mark: re.Match[str], kind: str) -> Region | None:
        """What the opener of a quotation quotes; ``None`` if it is only named."""
        start, end = mark.span()
        rest = Region(start, len(self.source.text), certain=False, closed=False)
        match kind:
            case "think":
                return self.region_to_closer(_paired_closer(mark[0]), start, end)
            case "result":
                # If it isn't closed, it quotes the rest: a call in a result may be an injection.
                tag = mark[0].rstrip(">").split()[0]
                return self.region_to_closer(_paired_closer(f"{tag}>"), start, end) or rest
            case "comment":
                whole = self.region_to_closer(re.compile("-->"), start, end)
                # Unclosed, it quotes the rest of the text only if it begins a line, as in Markdown.
                begins_line = _HEAD_OF_LINE.search(self.source.text, max(0, start - 4), start)
                return rest if whole is None and begins_line else whole
            case "blockquote":
                return self.rest_of_line(end)
            case "element" | "listing":
                return self._element_region(mark[0], start, end)
            case _:
                return self.code_opened_at(start, end)

    def text_outside(self) -> str:
        """The text without what is quoted; a quotation without a closer quotes nothing here."""
        text = self.source.text
        parts: list[str] = []
        begin = at = self.end_of_quoted_head()
        while mark := _ANY.search(text, at):
            kind = mark.lastgroup or ""
            region = self.region_of_opener(mark, kind)
            at = mark.end()
            if not region or not region.closed:
                continue
            # If calls that open in a quotation don't end in it, prose only named the tag around them.
            tags = [tag["close"] for tag in _CALL_TAG.finditer(text[region.start : region.end])]
            if kind in _CODE or 2 * sum(map(bool, tags)) >= len(tags):
                parts.append(text[begin : mark.start()])
                begin = at = region.end
        return "".join([*parts, text[begin:]])

    def end_of_quoted_head(self) -> int:
        # The marker of a quoted line begins with a line break, which the first line does not have.
        return self.rest_of_line(0).end if _QUOTED_LINE.match(self.source.text) else 0

    def rest_of_line(self, start: int) -> Region:
        place = self.source.find("\n", start)
        return Region(start, len(self.source.text) if place < 0 else place)

    def region_to_closer(self, closing: re.Pattern[str], start: int, end: int) -> Region | None:
        """What is between the opener at ``start:end`` and the first closer outside of code.

        If all closers are in code, the prose only named the opener; nobody knows what was meant, so that
        everything up to the end of that code is quoted. An opener that is never closed quotes nothing, unless
        the text is truncated.
        """
        ending = self.find_closer(closing, start, end)
        if isinstance(ending, Region):
            return ending
        if ending:
            first = self.source.search(closing, end)
            return Region(start, ending.end(), certain=first is not None and first.end() == ending.end())
        return Region(start, len(self.source.text), closed=False) if self.source.cut else None

    def find_closer(self, closing: re.Pattern[str], start: int, end: int) -> re.Match[str] | Region | None:
        """The closer outside of code, or else everything up to the end of the code around the first."""
        named: Region | None = None
        at = end
        for _ in range(_CLOSERS):
            close = self.source.search(closing, at)
            code = self._code_around_closer(close, start, end, at) if close else None
            if code is None:
                return close or named
            named = named or Region(start, code.end, certain=False)
            at = code.end
        return named

    def _code_around_closer(self, close: re.Match[str], start: int, end: int, since: int) -> Region | None:
        """The code around the closer of what opens at ``start:end``, unless the closer ends that code too.

        Real reasoning leaves fences and backticks open, and ends all the same: code holds the closer only if
        it is closed behind it, in its line or as a fence, or has an opener of its own.
        """
        code = self.region_around(close.start(), _MARK, since)
        if code is None:
            return None
        text = self.source.text
        opener = text[start:end].split()[0].rstrip(">").lower()
        if opener in text[code.start : close.start()].lower():
            return code
        whole = text.startswith(("```", "~~~"), code.start) or "\n" not in text[code.start : code.end]
        return code if whole and (code.closed or self.source.cut) else None

    def _element_region(self, opener: str, start: int, end: int) -> Region | None:
        whole = self.region_to_closer(_closing_pattern(opener), start, end)
        name = _TAG_NAME.match(opener)
        if whole is None or name is None:
            return whole
        tags = re.compile(rf"<(?P<close>/)?{name[1]}\b[^<>]{{0,200}}>", re.IGNORECASE)
        depth = 1
        for tag in islice(tags.finditer(self.source.text, end), _TAGS):
            depth += -1 if tag["close"] else 1
            if depth == 0:
                return Region(start, max(whole.end, tag.end()), certain=whole.certain)
        return Region(start, len(self.source.text), closed=False) if self.source.cut else whole


def _closing_pattern(opener: str) -> re.Pattern[str]:
    if opener.startswith("<!"):
        return re.compile(r"\]\]>")
    if opener.startswith("\\"):
        return re.compile(re.escape(opener.replace("begin", "end", 1)))
    word = _NAME.findall(opener)[0]
    if opener.startswith("#"):
        return re.compile(rf"#\+end_{re.escape(opener.partition('_')[2])}\b", re.IGNORECASE)
    closing = rf"\[/{word}\]" if opener.startswith("[") else rf"</{word}\s*>"
    return re.compile(closing, re.IGNORECASE)


@runtime_checkable
class Searchable(Protocol):
    """A collection of texts with an index, faster than a search through all of them."""

    def among(self, *words: str) -> Iterable[str]: ...


def is_quoted_from_earlier(text: str, earlier: Iterable[str]) -> bool:
    r"""Whether earlier text contains this text verbatim, also as part of a JSON string."""
    inside_json = quote(text)[1:-1]
    candidates = earlier.among(text, inside_json) if isinstance(earlier, Searchable) else earlier
    return any(text in before or inside_json in before for before in candidates)


_LEAD = (
    r"(?:\s|\]~!?b[\[\]]?\w{0,9}|<\|im_start\|>(?:assistant)?|<\|START_OF_TURN_TOKEN\|>|<\|CHATBOT_TOKEN\|>"
    r"|<\|begin\|>(?:assistant)?)*"
)
# K2-Horizon also writes `<ifm|think_fast>` and `<ifm|think_faster>`.
_THINK_TAG = r"(?:(?:seed:|mm:|ifm\||longcat_)?think(?:ing|_fast|_faster)?(?::[^<>\s]{1,40})?|scratch_pad)>"
THOUGHT_OPENERS = (
    rf"<{_THINK_TAG}|\[THINK\]|<\|START_THINKING\|>|<\|channel>thought\b|<\|inner_prefix\|>|<\|think\|>"
    r"|<\|plamo:begin_think:plamo\|>"
)
_PAIRS = {
    "[think]": "[/think]",
    "<|start_thinking|>": "<|end_thinking|>",
    "<|channel>thought": "<channel|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "<|think|>": "<|end|>",
    "<|plamo:begin_think:plamo|>": "<|plamo:end_think:plamo|>",
    "<|open|>think<|sep|>": "<|close|>think<|sep|>",
    # Results of tools: Gemma's, FunctionGemma's, Cohere's and DeepSeek's.
    "<|tool_response>": "<tool_response|>",
    "<start_function_response>": "<end_function_response>",
    "<|start_tool_result|>": "<|end_tool_result|>",
    "<｜tool▁outputs▁begin｜>": "<｜tool▁outputs▁end｜>",
    "<｜tool▁output▁begin｜>": "<｜tool▁output▁end｜>",
}
"""Openers of reasoning and of results whose closer is not a closing tag with their name."""
# Kimi K3's is not in `THOUGHT_OPENERS`, because within a text `xtml_channel` reads it.
_ANY_OPENER = lazy_pattern(rf"{THOUGHT_OPENERS}|<\|open\|>think<\|sep\|>", re.IGNORECASE)
"""An opener, also of the families whose text is not a tag."""
THOUGHT_BEGIN = lazy_pattern(rf"{_LEAD}(?P<opener>{_ANY_OPENER.pattern})", re.IGNORECASE)
"""An opener at the head of a text, with what templates write before it."""
_CLOSER = lazy_pattern(
    rf"</{_THINK_TAG}|\[/THINK\]|<\|END_THINKING\|>|<\|inner_suffix\|>|<\|plamo:end_think:plamo\|>"
    r"|<\|close\|>think<\|sep\|>",
    re.IGNORECASE,
)
"""A closer, which templates leave alone where they write the opener themselves."""
# A closer in the middle of a sentence is only mentioned: text before it on the line, and after it.
_SETS_APART = (" ", "\t", "(")
_GOES_ON = lazy_pattern(r"[ \t]+[^\s<\[{]|[.,;:!?)]")
"""What continues a sentence after a closer."""
_LONE_CLOSERS = 20
"""Maximum number of closers without an opener that are examined."""


@dataclass(frozen=True, slots=True)
class Thoughts:
    text: str
    end: int


def leading_reasoning(text: str, *, cut: bool = False) -> Thoughts:
    """The closed reasoning that a text begins with; in one that was ``cut``, code may go on."""
    opening, closers = THOUGHT_BEGIN.match(text), [*islice(_CLOSER.finditer(text), _LONE_CLOSERS)]
    if opening is None and not closers:
        return Thoughts("", 0)
    said: list[str] = []
    at = 0
    quotations = Quotations.of(Source(text, Offered(frozenset()), frozenset(), cut))
    while opening:
        closing = _paired_closer(opening["opener"])
        close = quotations.find_closer(closing, opening.start("opener"), opening.end())
        if not isinstance(close, re.Match):
            break
        said.append(text[opening.end() : close.start()].strip())
        at = close.end()
        opening = THOUGHT_BEGIN.match(text, at)
    # The server may have removed the opener: the first closer that is not only mentioned counts.
    if closers and not said and not _ANY_OPENER.search(text, 0, closers[0].start()):
        for close in closers:
            if not _is_closer_only_mentioned(quotations, close):
                return Thoughts(text[: close.start()].strip(), close.end())
    return Thoughts("\n".join(said), at)


def _paired_closer(opener: str) -> re.Pattern[str]:
    mark = opener.lower()
    return re.compile(re.escape(_PAIRS.get(mark, f"</{mark[1:]}")), re.IGNORECASE)


def _is_closer_only_mentioned(quotations: Quotations, close: re.Match[str]) -> bool:
    """Whether a closer is in a quotation, or inside a line of prose."""
    source, start = quotations.source, close.start()
    line = source.text[:start].rpartition("\n")[2]
    # Not a pattern, since one for the two conditions tries each place of a long line against each other.
    set_apart = line.endswith(_SETS_APART) and line[:-1].strip()
    return (
        bool(set_apart and _GOES_ON.match(source.text, close.end()))
        or is_quoted(source, start, close.end(), start)
        or is_in_indented_code(source.text, start, close.end(), start - len(line.lstrip()))
        or quotations.region_around(start, _ANY) is not None
    )
