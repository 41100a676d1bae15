r"""Looking for secrets in a text that is about to be written.

Two sources: the shapes of keys that providers hand out (:mod:`toolreel._secrets.patterns`), and
values that are known (:mod:`toolreel._secrets.known_values`). What is found is reported with its line
and a redacted excerpt; the secret itself is never shown. What a project's own rules allow is no secret
(:mod:`toolreel._secrets.rules`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from toolreel._secrets.known_values import known_secrets, spellings
from toolreel._secrets.patterns import shaped
from toolreel._secrets.rules import SecretRules, rules_in
from toolreel_core._replies.streaming.stream import deltas_in

__all__ = ["Leak", "known_secrets", "leaks", "secrets_in", "spoken"]

_EXCERPT: Final = 40


@dataclass(frozen=True, slots=True)
class Leak:
    """A secret in a text."""

    kind: str
    """What it is: the name of a shape, or ``value of NAME`` for one that is known."""
    line: int
    """The line in which it begins, from 1."""
    excerpt: str
    """A little of what stands before it in that line, with every secret struck out."""


@dataclass(frozen=True, slots=True)
class _Span:
    """Where a secret stands."""

    start: int
    end: int
    secret: int
    """Where the secret itself begins, behind what gives it away, such as ``Bearer``."""
    kind: str


def spoken(body: str) -> tuple[str, ...]:
    """What a streamed reply says when it is put together: in its frames, a secret stands in pieces."""
    deltas = deltas_in(body, whole=False)
    kinds = dict.fromkeys(delta.kind for delta in deltas)
    return tuple("".join(delta.text for delta in deltas if delta.kind == kind) for kind in kinds)


def leaks(text: str, known: Mapping[str, str], rules: SecretRules | None = None) -> tuple[Leak, ...]:
    """Every secret in a text, in the order in which they stand in it.

    >>> leaks("key: sk-abcdefghij0123456789", {})
    (Leak(kind='API key', line=1, excerpt='key: [API key]'),)

    :param known: secret values by their names, as from :func:`known_secrets`
    :param rules: those in the file that the environment names, by default
    """
    return tuple(_reported(text, _spans(text, known, rules)))


def secrets_in(
    text: str, known: Mapping[str, str], rules: SecretRules | None = None
) -> Iterator[tuple[str, str]]:
    """The secrets themselves, for whoever takes them out: the kind of each, and its text."""
    for span in _spans(text, known, rules):
        yield span.kind, text[span.secret : span.end]


def _spans(text: str, known: Mapping[str, str], rules: SecretRules | None) -> list[_Span]:
    """Where secrets stand; those that overlap are one, of the kind that is named first."""
    rules = rules_in() if rules is None else rules
    every = [*(_Span(*found) for found in shaped(text, rules.shapes)), *_known(text, known)]
    found = [span for span in every if not rules.allows(text[span.secret : span.end])]
    found.sort(key=lambda span: span.start)  # stable: the most telling shape comes first
    return _merged(found)


def _merged(found: Iterable[_Span]) -> list[_Span]:
    spans: list[_Span] = []
    for span in found:
        if spans and span.start < spans[-1].end:
            last = spans[-1]
            spans[-1] = _Span(last.start, max(span.end, last.end), last.secret, last.kind)
        else:
            spans.append(span)
    return spans


def _known(text: str, known: Mapping[str, str]) -> Iterator[_Span]:
    for name, value in known.items():
        for written in spellings(value.strip()) if value.strip() else ():
            at = text.find(written)
            while at >= 0:
                yield _Span(at, at + len(written), at, f"value of {name}")
                at = text.find(written, at + len(written))


def _reported(text: str, spans: list[_Span]) -> Iterator[Leak]:
    line, before, here = 1, "", 0
    for span in spans:
        between = text[here : span.start]
        line += between.count("\n")
        before = (before + between).rpartition("\n")[2]
        yield Leak(span.kind, line, f"{before[-_EXCERPT:]}[{span.kind}]")
        line += text.count("\n", span.start, span.end)
        before, here = before + f"[{span.kind}]", span.end
