"""Remembers texts without a secret, so that what most lines of journals have in common is searched once.

Those are the names of fields, the instructions and tools of an agent, the settings of its plan. A text is
harmless as to known values and rules, so it is remembered for just those.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from toolreel._secrets.project_rules import SecretRules

_LONGEST: Final = 8_192
"""Longer texts are replies and results, which do not come again."""
_ROOM: Final = 1_000_000
"""Characters that are remembered before all are forgotten, so that memory does not grow with the runs."""


class HarmlessTexts:
    """Texts that were searched as a whole, with all that is packed in them; threads may share it."""

    def __init__(self) -> None:
        self._texts: set[str] = set()
        self._size = 0

    def others(self, texts: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """The texts, with their places, that are not remembered."""
        known = self._texts
        return [one for one in texts if one[1] not in known]

    def add(self, texts: Iterable[str]) -> None:
        """Remember texts in which nothing was found."""
        new = {text for text in texts if len(text) <= _LONGEST}
        self._size += sum(map(len, new))
        if self._size > _ROOM:
            self._texts, self._size = set(), 0
        self._texts |= new


@lru_cache(maxsize=8)
def harmless_texts(_known: tuple[tuple[str, str], ...], _rules: SecretRules) -> HarmlessTexts:
    """What is remembered for these known values and rules, by all that write journals in this process."""
    return HarmlessTexts()
