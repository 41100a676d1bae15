"""Result type of the bare dialects' readers, and the message forms that they share."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from toolreel_core._text_calls.decoder import Found, Rejection
from toolreel_core._text_calls.markers import SPECIAL
from toolreel_core._text_calls.source import Source

_HEAD: Final = re.compile(rf"(?:\s|\ufeff|{SPECIAL.pattern})*", re.IGNORECASE)
_LAST: Final = re.compile(rf"(?:{SPECIAL.pattern})\Z", re.IGNORECASE)
_LONGEST_TOKEN: Final = 80
_FENCE: Final = re.compile(r"^[ \t]*```[ \t]*(?P<info>[\w-]{0,40})[ \t]*\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Whole:
    """A message that consists of calls."""

    calls: tuple[Found, ...]
    content: str = ""
    """The paragraph before them."""
    reasoning: str = ""
    rejected: tuple[Rejection, ...] = ()


WholeReader: TypeAlias = Callable[[Source], "Whole | None"]


@dataclass(frozen=True, slots=True)
class Fenced:
    """A message that ends in one code fence."""

    lead: str
    info: str
    body: str


def fenced(text: str) -> Fenced | None:
    """The parts of a message that is a code fence, with at most a paragraph before and nothing behind it."""
    opening = _FENCE.search(text) if text.endswith("```") else None
    if opening is None:
        return None
    lead, body = text[: opening.start()].strip(), text[opening.end() : -3]
    return Fenced(lead, opening["info"], body) if is_paragraph(lead) else None


def is_paragraph(text: str) -> bool:
    """Whether a text is one paragraph, or empty, and opens no quotation that it leaves open."""
    lines = text.strip().splitlines()
    code = "```" in text or "~~~" in text or "<!--" in text or text.count("`") % 2 == 1
    return not code and all(line.strip() for line in lines)


def without_tokens(text: str) -> str:
    """A message without the tokens and blanks around it."""
    head = _HEAD.match(text)
    text = text[head.end() :].rstrip() if head else text
    while last := _LAST.search(text, max(0, len(text) - _LONGEST_TOKEN)):
        text = text[: last.start()].rstrip()
    return text
