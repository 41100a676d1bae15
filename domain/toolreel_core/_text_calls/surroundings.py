"""Where a call stands: in a sentence, behind a label, between quotation marks, in code or in a table."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._text_calls.decoder_interface import Source

# The last pair is TeX's.
_ADJACENT = {'"': '"', "'": "'", "‘": "’", "``": "''"}
"""Marks that quote what stands directly behind them, up to their closer."""
_AROUND = {"“": "”", "„": "“”", "«": "»", "\u2039": "\u203a", "「": "」", "『": "』", "《": "》"}
"""Marks that quote the part of a paragraph between them, in which the call may have words around it."""
_REVERSED = ("»", "«")
"""These quote only what stands directly between them, since they are the marks above the other way round."""
_REST = lazy_pattern(r"\s*(?:[<\[][^<>]*)?\Z")
"""The end of a text, with at most the beginning of a tag before it."""
_REACH = 400
"""Characters before and behind a call that are searched for quotation marks."""
_PARAGRAPH_END = lazy_pattern(r"\n[ \t\r]*\n")
_OPENING = lazy_pattern(r"""(?:\A|[\s([{:,=>])"\Z""")
"""A straight mark opens a quotation after a blank, a bracket or a sign; after a number it means inches."""
_CELL = lazy_pattern(r"[ \t>]*(?P<first>\|)(?![>｜|])|.*[^\s|][ \t]+\|[ \t]")
"""A row of a table; ``|>`` and its like are tokens of models."""
# The line below the head of a table: `|---|:-:|`.
_DIVIDER = lazy_pattern(
    r"^[ \t>]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*\|?[ \t\r]*+$", re.MULTILINE
)
_LITERAL = lazy_pattern(r".*::[ \t\r]*\Z|\.\.[ ][\w-]{1,40}::.*\Z")
"""The line before a literal block of reStructuredText, which is indented by any width."""
# Markdown's width of a tab, and of the indentation of code.
_CODE_WIDTH = 4
_BLOCK = 8_000
"""Characters before a call in which its indented block has to begin."""


def is_quoted(source: Source, start: int, end: int, head: int) -> bool:
    """Whether the text around a call quotes it; at ``head`` the calls and tags begin of which it is one."""
    return (
        is_escaped(source.text, head)
        or _is_in_quotation_marks(source, head, end)
        or _is_in_table_cell(source, start, end, head)
        or is_in_indented_code(source.text, start, end, head)
    )


def _is_in_quotation_marks(source: Source, head: int, end: int) -> bool:
    text = source.text
    before = _PARAGRAPH_END.split(text[max(0, head - _REACH) : head])[-1]
    after = text[end : end + _REACH]
    for opener, closer in _ADJACENT.items():
        if before.endswith(opener) and (closer in after or (source.cut and _REST.match(text, end))):
            return True
    opener, closer = _REVERSED
    if before.endswith(opener) and after.startswith(closer):
        return True
    paragraph = _PARAGRAPH_END.split(after, maxsplit=1)[0]
    # Where the paragraph was truncated, a closing mark may be missing.
    cut = source.cut and end + len(paragraph) == len(text)
    for opener, closers in _AROUND.items():
        behind = before.rpartition(opener)
        if behind[1] and not any(closer in behind[2] for closer in closers):
            return not behind[2] or cut or any(closer in paragraph for closer in closers)
    line = before.rpartition("\n")[2]
    lead, mark, _ = line.rpartition('"')
    if line.count('"') % 2 == 0 or not _OPENING.search(lead + mark):
        return False
    return cut or '"' in paragraph.partition("\n")[0]


def _is_in_table_cell(source: Source, start: int, end: int, head: int) -> bool:
    text = source.text
    if "\n" in text[start:end].rstrip() or "\n" in text[head:start]:
        return False
    begin = text.rfind("\n", 0, head) + 1
    row = _CELL.match(text, begin, head)
    if row is None or row["first"]:
        return row is not None
    divider = source.search(_DIVIDER, 0)  # the same for each call of the text, so that it is found once
    return divider is not None and divider.end() <= begin


def is_in_indented_code(text: str, start: int, end: int, head: int) -> bool:
    first = text.rfind("\n", 0, head) + 1
    lead = text[first:head]
    width = _indent_width(lead)
    lines = text[start:end].rstrip().split("\n")[1:]
    # The place has to be the first on its line, and what follows it as far inside.
    if lead.strip() or any(_indent_width(line) < min(width, _CODE_WIDTH) for line in lines if line.strip()):
        return False
    # Between an indented block and the text before it is a blank line.
    blank = False
    for line in reversed(text[max(0, first - _BLOCK) : first].splitlines()):
        if not line.strip():
            blank = True
        elif not _indent_width(line):
            return blank and (width >= _CODE_WIDTH or (width > 0 and _LITERAL.match(line) is not None))
    return False


def is_escaped(text: str, start: int) -> bool:
    # Bounded, so that a row of backslashes is not counted again for each call. Eight levels of JSON in JSON
    # need 255 of them; the bound is odd, so a longer row is taken for an escape.
    before = text[max(0, start - 255) : start]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _indent_width(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(_CODE_WIDTH))


_LEADING_OVER = (":", ",", "：", "\uff0c")
_BLANK_OR_MARKUP = "*_#>` \t\r\n"
"""Around a sentence: blanks, and what makes it bold, a heading or a quotation."""

_ENDS = (*_LEADING_OVER, ".", "!", "?", ";", "。", "\uff01", "\uff1f")
_MARKUP = lazy_pattern(r"""[<>\[\]{}`"|✿]""")
"""Signs of markup, code and quotations: what is behind them is another sentence."""
_CONTINUES = tuple(",;:)\u2013")
_WORD = lazy_pattern(r"[^\W\d_]{2}[^\W_]*+")
_SENTENCE = 3
"""Words that make a sentence around a call; fewer may be a label."""

LeadIn: TypeAlias = Literal["announced", "shown", "unclear"]
"""Whether words announce a call of the model, show an example, or leave it open."""

_SENTENCE_END = lazy_pattern("(?<=[.!?。\uff01\uff1f])\\s+|\\n")
_EXAMPLE = lazy_pattern(
    r"\b(?:examples?|for instance|e\.\s?g|such as|sample|look(?:s|ed)? like|hypothetical|imaginary"
    r"|would (?:be|look|have)"
    r"|beispiel|z\.\s?b|par exemple|por ejemplo|por exemplo|ejemplo|exemplo|exemple|esempio)\b"
    r"|例如|比如|示例|例子|例：|例:|예시|예를 들어|например|пример",
    re.IGNORECASE,
)
"""Words that announce an example, in the languages that models answer in most."""
_LABEL = lazy_pattern(
    r"\b(?:like (?:this|so|that)|as follows|format(?:ted)?|syntax|template|placeholder|usage|schema"
    r"|rejected|refused|denied|forbidden|disallowed|not allowed|never|invalid|malformed|incorrect|wrong|bad"
    r"|broken|failed|documentation)\b",
    re.IGNORECASE,
)
"""Words of a label. A model that speaks of itself may use them too: "Let me fix the invalid request:"."""
_SPEAKS = lazy_pattern(
    # Pronouns of the first person, and what English leaves out before a call.
    r"\b(?:i|let me|let us|let's|let’s|we|my|us"
    r"|ich|wir|je|j'|j’|nous|yo|voy|vamos|déjame|eu|vou|io|ora|ik|jag|jeg)\b"
    r"|\A(?:ok(?:ay)?|sure|next|now|then|first|finally|calling|invoking|running|using|searching|looking"
    r"|checking|fetching|reading|writing|getting|executing|querying)\b"
    r"|\baction\W*\Z|\A(?:the )?(?:tool|function)[ _]calls?\W*\Z"
    r"|[我让来咱]|私|제가|\bя\b",
    re.IGNORECASE,
)


def lead_in_kind(lead: str) -> LeadIn:
    """What the last sentence before a call makes of it.

    >>> lead_in_kind("I'll look it up:"), lead_in_kind("Example:"), lead_in_kind("Anfrage:")
    ('announced', 'shown', 'unclear')
    """
    last = _last_sentence(lead)
    speaks = _SPEAKS.search(last)
    if _EXAMPLE.search(last) or (_LABEL.search(last) and not speaks):
        return "shown"
    return "announced" if speaks or not last.endswith((":", "：")) else "unclear"


def is_in_a_sentence(before: str, behind: str) -> bool:
    """Whether a sentence that does not announce a call goes on in its line, before it or behind it."""
    before, behind = _MARKUP.split(before)[-1].rstrip(), _MARKUP.split(behind, maxsplit=1)[0]
    if before.endswith(_ENDS):
        return False
    last = _last_sentence(before)
    if len(_WORD.findall(last)) >= _SENTENCE and not _SPEAKS.search(last):
        return True
    goes_on = behind[:1].islower() or behind[:1] in _CONTINUES
    return goes_on and len(_WORD.findall(behind)) >= _SENTENCE


def introduces_an_example(before: str) -> bool:
    """Whether text that leads over to a call, with a colon or comma, makes it an example."""
    # JSON and templates have line breaks escaped, at most two in a row.
    leads_over = (
        before.rstrip(_BLANK_OR_MARKUP).removesuffix("\\n").removesuffix("\\n").endswith(_LEADING_OVER)
    )
    return leads_over and lead_in_kind(before) == "shown"


def _last_sentence(text: str) -> str:
    plain = text.replace("\\n", "\n").strip()
    return _SENTENCE_END.split(plain)[-1].strip(_BLANK_OR_MARKUP)
