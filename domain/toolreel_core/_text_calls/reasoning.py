"""Reasoning in a text, between tags or tokens.

Everything in a closed block of reasoning is reasoning, so a call that the model drafts there never runs.
Some servers remove the opener, so a closer alone ends reasoning too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._text_calls.decoder_interface import Offered, Source
from toolreel_core._text_calls.quotations import Quotations
from toolreel_core._text_calls.surroundings import Place

_LEAD: Final = (
    r"(?:\s|\]~!?b[\[\]]?\w{0,9}|<\|im_start\|>(?:assistant)?|<\|START_OF_TURN_TOKEN\|>|<\|CHATBOT_TOKEN\|>"
    r"|<\|begin\|>(?:assistant)?)*"
)
_TAG: Final = r"(?:(?:seed:|mm:|ifm\||longcat_)?think(?:ing|_fast|_faster)?(?::[^<>\s]{1,40})?|scratch_pad)>"
"""The rest of a tag, with a family's prefix or a checkpoint's suffix."""
OPENERS: Final = (
    rf"<{_TAG}|\[THINK\]|<\|START_THINKING\|>|<\|channel>thought\b|<\|inner_prefix\|>|<\|think\|>"
    r"|<\|plamo:begin_think:plamo\|>"
)
"""Pattern of the openers of reasoning."""
_PAIRS: Final = {
    "[think]": "[/think]",
    "<|start_thinking|>": "<|end_thinking|>",
    "<|channel>thought": "<channel|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "<|think|>": "<|end|>",
    "<|plamo:begin_think:plamo|>": "<|plamo:end_think:plamo|>",
    "<|open|>think<|sep|>": "<|close|>think<|sep|>",
}
"""Closers of the openers that are not tags."""
_ANY_OPENER: Final = lazy_pattern(rf"{OPENERS}|<\|open\|>think<\|sep\|>", re.IGNORECASE)
"""An opener, also of the families whose text is not a tag."""
_OPENER: Final = lazy_pattern(rf"{_LEAD}(?P<opener>{_ANY_OPENER.pattern})", re.IGNORECASE)
"""An opener at the start of a text, after leaked tokens of the template."""
_CLOSER: Final = lazy_pattern(
    rf"</{_TAG}|\[/THINK\]|<\|END_THINKING\|>|<\|inner_suffix\|>|<\|plamo:end_think:plamo\|>"
    r"|<\|close\|>think<\|sep\|>",
    re.IGNORECASE,
)
"""A closer, which templates leave alone where they write the opener themselves."""
# A closer in the middle of a sentence is only mentioned: text before it on the line, and after it.
_SETS_APART: Final = (" ", "\t", "(")
_GOES_ON: Final = lazy_pattern(r"[ \t]+[^\s<\[{]|[.,;:!?)]")
"""What continues a sentence after a closer."""
_CLOSERS: Final = 20
"""Maximum number of closers without an opener that are examined."""


@dataclass(frozen=True, slots=True)
class Thoughts:
    """The reasoning of a text, and its end."""

    text: str
    end: int


def thoughts(text: str, *, cut: bool = False) -> Thoughts:
    r"""The closed reasoning that a text begins with.

    >>> thoughts("<think>Two.</think>Four.")
    Thoughts(text='Two.', end=19)
    >>> thoughts("Two.</think>\nFour.")
    Thoughts(text='Two.', end=12)

    :param cut: whether the text was truncated, so that code in it may go on
    """
    opening, closers = _OPENER.match(text), [*islice(_CLOSER.finditer(text), _CLOSERS)]
    if opening is None and not closers:
        return Thoughts("", 0)
    said: list[str] = []
    at = 0
    quotations = Quotations.of(Source(text, Offered(frozenset()), frozenset(), cut))
    while opening:
        closing = closer_of(opening["opener"])
        close = quotations.ending(closing, opening.start("opener"), opening.end())
        if not isinstance(close, re.Match):
            return Thoughts("\n".join(said), at)
        said.append(text[opening.end() : close.start()].strip())
        at = close.end()
        opening = _OPENER.match(text, at)
    # The server may have removed the opener: the first closer that is not only mentioned counts.
    if closers and not said and not _ANY_OPENER.search(text, 0, closers[0].start()):
        for close in closers:
            if not _is_mentioned(quotations, close):
                return Thoughts(text[: close.start()].strip(), close.end())
    return Thoughts("\n".join(said), at)


def closer_of(opener: str) -> re.Pattern[str]:
    """The pattern of the closer of an opener of reasoning."""
    mark = opener.lower()
    return re.compile(re.escape(_PAIRS.get(mark, f"</{mark[1:]}")), re.IGNORECASE)


def opener_of_thoughts(source: Source) -> int:
    """The start of unclosed reasoning at the head of a text; -1 if there is none."""
    opening = _OPENER.match(source.text)
    return opening.end() if opening else -1


def _is_mentioned(quotations: Quotations, close: re.Match[str]) -> bool:
    """Whether a closer is in a quotation, or inside a line of prose."""
    text = quotations.source.text
    line = text[: close.start()].rpartition("\n")[2]
    # Not a pattern, since one for the two conditions tries each place of a long line against each other.
    set_apart = line.endswith(_SETS_APART) and line[:-1].strip()
    within = set_apart and _GOES_ON.match(text, close.end())
    place = Place(quotations.source, close.start(), close.end(), close.start())
    in_line = replace(place, head=close.start() - len(line.lstrip()))
    return bool(within) or place.is_quoted or in_line.in_indented_code() or quotations.hold(close.start())
