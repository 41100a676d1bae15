"""Searches a text for secrets.

Secrets are found by patterns (:mod:`toolreel._secrets.rules`) and by known values
(:mod:`toolreel._secrets.known_values`), unless the project allows them
(:mod:`toolreel._secrets.rules`). A report has the line and a redacted excerpt, never the secret
itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from toolreel._secrets.known_values import spellings
from toolreel._secrets.rules import SecretRules, rules_in, shaped
from toolreel_core._lazy_pattern import lazy_pattern

BLOB: Final = lazy_pattern(r"data:[\w.+/-]*;base64,[A-Za-z0-9+/]*={0,2}")
"""An image, audio or a file: only known values are looked for in it."""
_EXCERPT: Final = 40


@dataclass(frozen=True, slots=True)
class Leak:
    """A secret in a text."""

    kind: str
    """The name of a pattern, or ``value of NAME`` for a known value."""
    line: int
    """The line in which it starts, counted from 1."""
    excerpt: str
    """The text before it in that line, shortened, with all secrets redacted."""


@dataclass(frozen=True, slots=True)
class _Span:
    """The position of a secret."""

    start: int
    end: int
    secret: int
    """Start of the secret itself, after a marker such as ``Bearer``."""
    kind: str


def leaks(text: str, known: Mapping[str, str], rules: SecretRules | None = None) -> tuple[Leak, ...]:
    """All secrets in a text, in order.

    >>> leaks("key: sk-abcdefghij0123456789", {})
    (Leak(kind='API key', line=1, excerpt='key: [API key]'),)

    :param known: secret values by their names, as from :func:`known_secrets`
    :param rules: by default, those in the file named by ``TOOLREEL_SECRETS``
    """
    return tuple(_leaks_at(text, _secret_spans(text, known, rules)))


def secrets_in(
    text: str, known: Mapping[str, str], rules: SecretRules | None = None
) -> Iterator[tuple[str, str]]:
    """The kind and the text of each secret, in order to redact them."""
    for span in _secret_spans(text, known, rules):
        yield span.kind, text[span.secret : span.end]


def _secret_spans(text: str, known: Mapping[str, str], rules: SecretRules | None) -> list[_Span]:
    """The positions of secrets; overlapping ones are merged under the kind of the first."""
    rules = rules_in() if rules is None else rules
    # Patterns match Base64 by chance, and take long for megabytes of it.
    shapes = () if BLOB.fullmatch(text) else shaped(text, rules.shapes)
    every = [*(_Span(*found) for found in shapes), *_known_spans(text, known)]
    found = [span for span in every if not rules.allows(text[span.secret : span.end])]
    found.sort(key=lambda span: span.start)  # stable, so the most specific pattern comes first
    return _merge_spans(found)


def _merge_spans(found: Iterable[_Span]) -> list[_Span]:
    spans: list[_Span] = []
    for span in found:
        if spans and span.start < spans[-1].end:
            last = spans[-1]
            spans[-1] = _Span(last.start, max(span.end, last.end), last.secret, last.kind)
        else:
            spans.append(span)
    return spans


def _known_spans(text: str, known: Mapping[str, str]) -> Iterator[_Span]:
    for name, value in known.items():
        for written in spellings(value.strip()) if value.strip() else ():
            at = text.find(written)
            while at >= 0:
                yield _Span(at, at + len(written), at, f"value of {name}")
                at = text.find(written, at + len(written))


def _leaks_at(text: str, spans: list[_Span]) -> Iterator[Leak]:
    line, before, here = 1, "", 0
    for span in spans:
        between = text[here : span.start]
        line += between.count("\n")
        before = (before + between).rpartition("\n")[2]
        yield Leak(span.kind, line, f"{before[-_EXCERPT:]}[{span.kind}]")
        line += text.count("\n", span.start, span.end)
        before, here = before + f"[{span.kind}]", span.end


def narrowed(
    texts: Collection[str], known: Mapping[str, str], rules: SecretRules
) -> tuple[dict[str, str], SecretRules]:
    """The known values and the rules without those that are in none of some texts.

    Nearly all texts hold no secret, and most of what a search costs is to begin it, once for each text and
    each kind of secret. So all texts are looked at together first.
    """
    whole = "\n".join(texts)
    found = {
        name: value
        for name, value in known.items()
        if value.strip() and any(spelling in whole for spelling in spellings(value.strip()))
    }
    if "data:" in whole:  # patterns match Base64 by chance, and take long for megabytes of it
        whole = "\n".join(text for text in texts if not BLOB.fullmatch(text))
    lowered = whole.lower()
    # No shape of ours asks for more than that a word ends at its end, so what matches in a text also matches
    # where others stand around it; the patterns of a project may ask for anything, and have no hint.
    shapes = (
        shape
        for shape in rules.shapes
        if not shape.hints or (any(map(lowered.__contains__, shape.hints)) and shape.pattern.search(whole))
    )
    return found, replace(rules, shapes=tuple(shapes))
