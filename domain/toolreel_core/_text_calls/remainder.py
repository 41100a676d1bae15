"""The visible rest of a text after calls, broken calls and control tokens are removed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from toolreel_core._text_calls.reasoning import opener_of_thoughts
from toolreel_core._text_calls.scanner import Scan, Span

# Zero-width characters, and the blank and line break that byte-level tokenizers leak.
_INVISIBLE: Final = "\ufeff\u200b\u200c\u200d\u2060ĠĊ"
_UNFINISHED: Final = re.compile(r"\s*(?:<[/|｜a-z][^<>\s]{0,40}|\[(?:/|END_)\w{0,20})\Z")
"""The beginning of a truncated tag at the end of a text."""


@dataclass(frozen=True, slots=True)
class Remainder:
    """The visible text, and the reasoning found in it."""

    content: str
    reasoning: str


def remainder(scan: Scan) -> Remainder:
    """The text outside the calls; without calls and frames, the unchanged text."""
    said = "\n".join(scan.reasoning)
    if not scan.calls:
        frames = [span for span in scan.spans if span.kind in {"frame", "special"}]
        framed = any(span.kind == "frame" for span in frames)
        return Remainder(_outside(scan.source.text, frames) if framed else scan.source.text, said)
    removed = _removed(scan)
    start = opener_of_thoughts(scan.source)
    if 0 <= start <= removed[0].start:
        said = "\n".join(part for part in (scan.source.text[start : removed[0].start].strip(), said) if part)
        removed[0] = Span(0, removed[0].end, "debris")
    return Remainder(_outside(scan.source.text, removed), said)


def _removed(scan: Scan) -> list[Span]:
    """The spans to remove; wrapper tags only next to a call or its debris, since prose may mention them."""
    kept: list[Span] = []
    group: list[Span] = []
    for span in scan.spans:
        if span.kind in {"quotation", "prose"}:
            continue
        if group and not _is_blank(scan.source.text[group[-1].end : span.start]):
            kept.extend(_of_group(group))
            group = []
        group.append(span)
    rest = Span(group[-1].end, len(scan.source.text), "debris") if group else None
    if rest and _UNFINISHED.match(scan.source.text, rest.start):
        group.append(rest)
    return [*kept, *_of_group(group)]


def _of_group(group: Sequence[Span]) -> list[Span]:
    beside_call = any(span.kind in {"call", "debris", "frame"} for span in group)
    return [span for span in group if beside_call or span.kind == "special"]


def _outside(text: str, spans: Sequence[Span]) -> str:
    parts: list[str] = []
    start = 0
    for span in spans:
        parts.append(text[start : span.start])
        start = span.end
    parts.append(text[start:])
    return " ".join(part.strip() for part in parts if not _is_blank(part))


def _is_blank(text: str) -> bool:
    return not text.strip().strip(_INVISIBLE).strip()
