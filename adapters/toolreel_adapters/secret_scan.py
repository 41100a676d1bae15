r"""Looking for secrets in a text that is about to be written.

Two sources: the shapes of keys that providers hand out, and the values that this process knows
from its environment. What is found is reported with its line and a redacted excerpt; the secret
itself is never shown. Both work on JSON-escaped text too, where a line break before a key is the
letters ``\n`` and a slash may be ``\/``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from toolreel.streams import deltas_in

__all__ = ["Leak", "known_secrets", "leaks", "spoken"]

_SECRET_NAME: Final = re.compile("KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SHORTEST: Final = 8
_EXCERPT: Final = 40

_START: Final = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4}))"
"""Where a key may begin: not inside of a word, unless the word's last letter belongs to an escape."""

_QUOTED_COLON: Final = r"\\{0,3}[\"']?\s{0,9}[:=]\s{0,9}\[?\s{0,9}\\{0,3}[\"']?"
"""What stands between a header's name and its value, in HTTP, JSON, Python and YAML."""

_SHAPES: Final[Mapping[str, re.Pattern[str]]] = {
    "API key": re.compile(_START + r"sk-[A-Za-z0-9_-]{20,}"),
    "bearer token": re.compile(r"(?i)bearer(?:\s|\\[nt])+[A-Za-z0-9._~+/-]{16,}=*"),
    "authorization header": re.compile(
        r"(?i)authorization" + _QUOTED_COLON + r"(?:basic|token|apikey)\s{1,9}([A-Za-z0-9+/._=-]{8,})"
    ),
    "GitHub token": re.compile(_START + r"(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})"),
    "AWS access key": re.compile(_START + r"(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])"),
    "Google API key": re.compile(_START + r"AIza[0-9A-Za-z_-]{35,}"),
    "Slack token": re.compile(_START + r"xox[a-z]-[A-Za-z0-9-]{10,}"),
    "Hugging Face token": re.compile(_START + r"hf_[A-Za-z0-9]{30,}"),
    "private key": re.compile(
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----"
        r"(?:[\s\S]*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|[\s\S]*)"
    ),
    "cookie header": re.compile(r"(?i)(?:set-)?cookie" + _QUOTED_COLON + r"[\w.-]+=[^\s\"';\\]{6,}"),
    "JSON web token": re.compile(_START + r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
}
_LONGEST_RUN: Final = {"API key": 16, "bearer token": 10, "authorization header": 8, "Slack token": 10}
"""Shapes that ordinary words could have as well, and how long a run of letters and digits must be in them."""


@dataclass(frozen=True, slots=True)
class Leak:
    """A secret in a text."""

    kind: str
    """What it is: the name of a shape, or ``value of NAME`` for one that is known."""
    line: int
    """The line in which it begins, from 1."""
    excerpt: str
    """A little of what stands before it in that line, with every secret struck out."""


def known_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """The values in an environment whose names say that they are secret.

    >>> known_secrets({"OPENAI_API_KEY": "abcdefgh12", "HOME": "/home/somebody", "PIN_TOKEN": "1234"})
    {'OPENAI_API_KEY': 'abcdefgh12'}
    """
    return {
        name: value
        for name, value in environ.items()
        if _SECRET_NAME.search(name) and len(value.strip()) >= _SHORTEST
    }


def spoken(body: str) -> tuple[str, ...]:
    """What a streamed reply says when it is put together: in its frames, a secret stands in pieces."""
    deltas = deltas_in(body, whole=False)
    kinds = dict.fromkeys(delta.kind for delta in deltas)
    return tuple("".join(delta.text for delta in deltas if delta.kind == kind) for kind in kinds)


def leaks(text: str, known: Mapping[str, str]) -> tuple[Leak, ...]:
    """Every secret in a text, in the order in which they stand in it.

    >>> leaks("key: sk-abcdefghij0123456789", {})
    (Leak(kind='API key', line=1, excerpt='key: [API key]'),)

    :param known: secret values by their names, as from :func:`known_secrets`
    """
    found = sorted({*_shaped(text), *_known(text, known)}, key=lambda span: (span[0], -span[1], span[2]))
    spans: list[tuple[int, int, str]] = []
    for start, end, kind in found:
        if spans and start < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]), spans[-1][2])
        else:
            spans.append((start, end, kind))
    return tuple(_reported(text, spans))


def _shaped(text: str) -> Iterator[tuple[int, int, str]]:
    for kind, shape in _SHAPES.items():
        for match in shape.finditer(text):
            if kind not in _LONGEST_RUN or _looks_random(match[match.lastindex or 0], _LONGEST_RUN[kind]):
                yield match.start(), match.end(), kind


def _looks_random(text: str, run: int) -> bool:
    """Whether this is more than words: something that words do not have, and a run that is long enough."""
    return bool(re.search(r"\d|=$|[a-z][A-Z]", text) and re.search(rf"[A-Za-z0-9]{{{run}}}", text))


def _known(text: str, known: Mapping[str, str]) -> Iterator[tuple[int, int, str]]:
    for name, value in known.items():
        for written in _spellings(value.strip()) if value.strip() else ():
            for match in re.finditer(re.escape(written), text):
                yield match.start(), match.end(), f"value of {name}"


def _spellings(value: str) -> set[str]:
    """How a value may stand in a text: as it is, in JSON, in JSON within JSON, in a URL."""
    in_json = {json.dumps(value, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    in_json |= {spelling.replace("/", "\\/") for spelling in in_json}
    twice = {json.dumps(spelling)[1:-1] for spelling in in_json}
    return {value, quote(value, safe="", errors="surrogateescape"), *in_json, *twice}


def _reported(text: str, spans: list[tuple[int, int, str]]) -> Iterator[Leak]:
    line, before, here = 1, "", 0
    for start, end, kind in spans:
        between = text[here:start]
        line += between.count("\n")
        before = (before + between).rpartition("\n")[2]
        yield Leak(kind, line, f"{before[-_EXCERPT:]}[{kind}]")
        line += text.count("\n", start, end)
        before, here = before + f"[{kind}]", end
