"""Where a call stands: in a sentence, behind a label, between quotation marks, in code or in a table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._text_calls.decoder_interface import Source

_ADJACENT: Final = {'"': '"', "'": "'", "‘": "’", "``": "''"}
"""Marks that quote what stands directly behind them, up to their closer."""
_AROUND: Final = {"“": "”", "„": "“”", "«": "»", "\u2039": "\u203a", "「": "」", "『": "』", "《": "》"}
"""Marks that quote the part of a paragraph between them, in which the call may have words around it."""
_REVERSED: Final = ("»", "«")
"""These quote only what stands directly between them, since they are the marks above the other way round."""
_REST: Final = lazy_pattern(r"\s*(?:[<\[][^<>]*)?\Z")
"""The rest of a truncated closing tag."""
_ANY_MARK: Final = lazy_pattern(f'["{"".join(_AROUND)}]')
"""An opening mark of those that quote a part of a paragraph."""
_REACH: Final = 400
"""Number of characters before and after a call that are searched for quotation marks."""
_PARAGRAPH_END: Final = lazy_pattern(r"\n[ \t\r]*\n")
"""The end of a paragraph, which no quotation crosses."""
_OPENING: Final = lazy_pattern(r"""(?:\A|[\s([{:,=>])"\Z""")
"""A straight mark opens a quotation after a blank, a bracket or a sign; after a number it means inches."""
_CELL: Final = lazy_pattern(r"[ \t>]*\|(?![>｜|])|.*[^\s|][ \t]+\|[ \t]")
"""A row of a table; ``|>`` and its like are tokens of models."""
_DIVIDER: Final = lazy_pattern(
    r"^[ \t>]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*\|?[ \t\r]*+$", re.MULTILINE
)
"""The line between head and body of a table."""
_INDENT: Final = lazy_pattern(r"[ \t]*")
"""The indentation of a line."""
_LITERAL: Final = lazy_pattern(r".*::[ \t\r]*\Z|\.\.[ ][\w-]{1,40}::.*\Z")
"""The line before a literal block of reStructuredText, which is indented by any width."""
_CODE_WIDTH: Final = 4
_BLOCK: Final = 8_000
"""Number of characters before a call that are searched for the start of its indented block."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a call in a text."""

    source: Source
    start: int
    end: int
    head: int
    """Where the calls and tags begin of which this call is one, with only blanks between them."""

    @property
    def is_quoted(self) -> bool:
        """Whether the place quotes the call."""
        return (
            is_escaped(self.source.text, self.head)
            or is_escaped(self.source.text, self.start)
            or self._in_adjacent_marks()
            or self._in_marks_around()
            or self._in_cell()
            or self.in_indented_code()
        )

    def _in_adjacent_marks(self) -> bool:
        text = self.source.text
        if text.endswith(tuple(_AROUND), 0, self.head):
            return True
        opener, closer = _REVERSED
        if text.endswith(opener, 0, self.head) and text.startswith(closer, self.end):
            return True
        for opener, closer in _ADJACENT.items():
            if text.endswith(opener, 0, self.head):
                cut = self.source.cut and _REST.match(text, self.end) is not None
                return closer in text[self.end : self.end + _REACH] or cut
        return False

    def _in_marks_around(self) -> bool:
        before = _PARAGRAPH_END.split(self.source.text[max(0, self.head - _REACH) : self.head])[-1]
        if not _ANY_MARK.search(before):
            return False
        after = self._text_after()
        for opener, closers in _AROUND.items():
            behind = before.rpartition(opener)
            if behind[1] and not any(closer in behind[2] for closer in closers):
                return any(closer in after for closer in closers) or self._ends_early()
        line = before.rpartition("\n")[2]
        head, mark, _ = line.rpartition('"')
        if not mark or line.count('"') % 2 == 0 or not _OPENING.search(head + mark):
            return False
        return '"' in after.partition("\n")[0] or self._ends_early()

    def _text_after(self) -> str:
        return _PARAGRAPH_END.split(self.source.text[self.end : self.end + _REACH], maxsplit=1)[0]

    def _ends_early(self) -> bool:
        """Whether the paragraph of the call was truncated, so that a closing mark may be missing."""
        return self.source.cut and self.end + len(self._text_after()) == len(self.source.text)

    def _in_cell(self) -> bool:
        text = self.source.text
        if "\n" in text[self.start : self.end].rstrip() or "\n" in text[self.head : self.start]:
            return False
        begin = text.rfind("\n", 0, self.head) + 1
        before = text[begin : self.head]
        if "|" not in before or not _CELL.match(before):
            return False
        if before.lstrip(" \t>").startswith("|"):
            return True
        divider = self.source.search(
            _DIVIDER, 0
        )  # the same for each call of the text, so that it is found once
        return divider is not None and divider.end() <= begin

    def in_indented_code(self) -> bool:
        """Whether the call is in indented code, or in a literal block of reStructuredText."""
        text = self.source.text
        first = text.rfind("\n", 0, self.head) + 1
        lead = text[first : self.head]
        width = _column_count(lead)
        lines = text[self.start : self.end].rstrip().split("\n")[1:]
        # The place has to be the first on its line, and what follows it as far inside.
        if lead.strip() or any(
            _column_count(line) < min(width, _CODE_WIDTH) for line in lines if line.strip()
        ):
            return False
        # Between an indented block and the text before it is a blank line.
        blank = False
        for line in reversed(text[max(0, first - _BLOCK) : first].splitlines()):
            if not line.strip():
                blank = True
            elif not _column_count(line):
                literal = 0 < width < _CODE_WIDTH and _LITERAL.match(line)
                return blank and bool(width >= _CODE_WIDTH or literal)
        return False


def is_escaped(text: str, start: int) -> bool:
    r"""Whether a backslash escapes what begins at a place.

    >>> is_escaped(r"\<tool_call>", 1), is_escaped(r"\\<tool_call>", 2)
    (True, False)
    """
    before = text[max(0, start - 8) : start]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _column_count(line: str) -> int:
    lead = _INDENT.match(line)
    return len(lead[0].expandtabs(_CODE_WIDTH)) if lead else 0


_LEADING_OVER: Final = (":", ",", "：", "\uff0c")
_BLANK_OR_MARKUP: Final = "*_#>` \t\r\n"
"""Around a sentence: blanks, and what makes it bold, a heading or a quotation."""

_ENDS: Final = (*_LEADING_OVER, ".", "!", "?", ";", "。", "\uff01", "\uff1f")
"""The end of a sentence, or of what leads over to a call."""
_MARKUP: Final = lazy_pattern(r"""[<>\[\]{}`"|✿]""")
"""Signs of markup, code and quotations: what is behind them is another sentence."""
_CONTINUES: Final = tuple(",;:)\u2013")
"""Signs with which a sentence goes on."""
_WORD: Final = lazy_pattern(r"[^\W\d_]{2}[^\W_]*+")
_SENTENCE: Final = 3
"""Words of a sentence that a call stands in."""

LeadIn: TypeAlias = Literal["announced", "shown", "unclear"]
"""Whether words announce a call of the model, show an example, or leave it open."""

_SENTENCE_END: Final = lazy_pattern("(?<=[.!?。\uff01\uff1f])\\s+|\\n")
"""The end of a sentence, also in Chinese and Japanese."""
_EXAMPLE: Final = lazy_pattern(
    r"\b(?:examples?|for instance|e\.\s?g|such as|sample|look(?:s|ed)? like|hypothetical|imaginary"
    r"|would (?:be|look|have)"
    r"|beispiel|z\.\s?b|par exemple|por ejemplo|por exemplo|ejemplo|exemplo|exemple|esempio)\b"
    r"|例如|比如|示例|例子|例：|例:|예시|예를 들어|например|пример",
    re.IGNORECASE,
)
"""Words that announce an example, in the languages that models answer in most."""
_LABEL: Final = lazy_pattern(
    r"\b(?:like (?:this|so|that)|as follows|format(?:ted)?|syntax|template|placeholder|usage|schema"
    r"|rejected|refused|denied|forbidden|disallowed|not allowed|never|invalid|malformed|incorrect|wrong|bad"
    r"|broken|failed|documentation)\b",
    re.IGNORECASE,
)
"""Words of a label. A model that speaks of itself may use them too: "Let me fix the invalid request:"."""
_SPEAKS: Final = lazy_pattern(
    # Pronouns of the first person, and what English leaves out before a call.
    r"\b(?:i|let me|let us|let's|let’s|we|my|us"
    r"|ich|wir|je|j'|j’|nous|yo|voy|vamos|déjame|eu|vou|io|ora|ik|jag|jeg)\b"
    r"|\A(?:ok(?:ay)?|sure|next|now|then|first|finally|calling|invoking|running|using|searching|looking"
    r"|checking|fetching|reading|writing|getting|executing|querying)\b"
    r"|\baction\W*\Z|\A(?:the )?(?:tool|function)[ _]calls?\W*\Z"
    r"|[我让来咱]|私|제가|\bя\b",
    re.IGNORECASE,
)


def lead_in(lead: str) -> LeadIn:
    """What the last sentence before a call makes of it.

    >>> lead_in("I'll look it up:"), lead_in("Example:"), lead_in("Anfrage:")
    ('announced', 'shown', 'unclear')
    """
    last = _last_sentence(lead)
    speaks = _SPEAKS.search(last)
    if _EXAMPLE.search(last) or (_LABEL.search(last) and not speaks):
        return "shown"
    return "announced" if speaks or not last.endswith((":", "：")) else "unclear"


def is_in_a_sentence(before: str, behind: str) -> bool:
    """Whether a sentence that does not announce a call goes on in its line, before it or behind it.

    >>> (
    ...     is_in_a_sentence("The request was", ""),
    ...     is_in_a_sentence("I ask:", ""),
    ...     is_in_a_sentence("Now I ask", ""),
    ... )
    (True, False, False)
    >>> is_in_a_sentence("", ", and the answer was yes"), is_in_a_sentence("", "Then I go on.")
    (True, False)
    """
    before, behind = _MARKUP.split(before)[-1].rstrip(), _MARKUP.split(behind, maxsplit=1)[0]
    if before.endswith(_ENDS):
        return False
    last = _last_sentence(before)
    if len(_WORD.findall(last)) >= _SENTENCE and not _SPEAKS.search(last):
        return True
    goes_on = behind[:1].islower() or behind[:1] in _CONTINUES
    return goes_on and len(_WORD.findall(behind)) >= _SENTENCE


def shows_an_example(before: str) -> bool:
    r"""Whether text that leads over to a call, with a colon or comma, makes it an example.

    >>> shows_an_example("Here is an example,\n"), shows_an_example("Let me fix the wrong call:")
    (True, False)
    """
    leads_over = (
        before.rstrip(_BLANK_OR_MARKUP).removesuffix("\\n").removesuffix("\\n").endswith(_LEADING_OVER)
    )
    return leads_over and lead_in(before) == "shown"


def _last_sentence(text: str) -> str:
    plain = text.replace("\\n", "\n").strip()
    return _SENTENCE_END.split(plain)[-1].strip(_BLANK_OR_MARKUP)
