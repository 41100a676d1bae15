"""Which secrets a number of texts may hold: one look at all of them together, before each is searched.

Nearly all texts hold none, and most of what a search costs is to begin it, once for each text and each kind
of secret. A kind that is ruled out here has no match in any of the texts; one that is left may have none too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from toolreel._secrets.known_values import spellings
from toolreel._secrets.patterns import Shape
from toolreel._secrets.project_rules import SecretRules

BLOB: Final = re.compile(r"data:[\w.+/-]*;base64,[A-Za-z0-9+/]*={0,2}")
"""An image, audio or a file: only known values are looked for in it."""
_BATCH: Final = 65_536
"""Characters that are looked at together, so that a long session is not copied as a whole."""
_BETWEEN: Final = "\n"
"""Stands between texts. No shape's end asks for more than that a word ends there, so what matches in a text
also matches where others stand around it; patterns of a project may ask for anything."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """What may be in some texts."""

    known: Mapping[str, str]
    """Known values by name."""
    rules: SecretRules
    """With only those shapes that may match."""

    def __bool__(self) -> bool:
        return bool(self.known or self.rules.shapes)


def candidates(texts: Collection[str], known: Mapping[str, str], rules: SecretRules) -> Candidates:
    """What may be in some texts.

    :param known: secret values by name
    """
    whole = _BETWEEN.join(texts)
    found = {name: value for name, value in known.items() if _is_in(whole, value.strip())}
    # Patterns match Base64 by chance, and take long for megabytes of it.
    if "data:" in whole:
        whole = _BETWEEN.join(text for text in texts if not BLOB.fullmatch(text))
    return Candidates(found, replace(rules, shapes=tuple(_shapes(whole, rules.shapes))))


def batches(texts: Iterable[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    """Texts with their places, as many at once as are looked at together."""
    batch, size = list[tuple[str, str]](), 0
    for one in texts:
        batch.append(one)
        size += len(one[1])
        if size > _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _is_in(whole: str, value: str) -> bool:
    return bool(value) and any(spelling in whole for spelling in spellings(value))


def _shapes(whole: str, shapes: Iterable[Shape]) -> Iterator[Shape]:
    lowered = whole.lower()
    for shape in shapes:
        for hint in shape.hints:
            if hint in lowered:
                if shape.may_match_in(whole):
                    yield shape
                break
