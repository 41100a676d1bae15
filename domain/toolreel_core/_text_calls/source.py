"""A text that is searched for calls, and what is known of where it comes from."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from toolreel_core._jsontext.json_repair import SearchedText
from toolreel_core._text_calls.known_tools import Offered

__all__ = ["Source"]


@dataclass(frozen=True, slots=True)
class Source(SearchedText):
    """A text, the tools that exist, and how it may be read."""

    offered: Offered
    enabled: AbstractSet[str]
    """The dialects that are looked for."""
    cut: bool
    """The text broke off: what is not closed may have gone on."""
    _matches: dict[re.Pattern[str], tuple[int, re.Match[str] | None]] = field(
        default_factory=dict[re.Pattern[str], "tuple[int, re.Match[str] | None]"], init=False, compare=False
    )

    def search(self, pattern: re.Pattern[str], start: int) -> re.Match[str] | None:
        """The next match of a pattern.

        :param pattern: without look-behind, as what stands before ``start`` does not count
        """
        asked, found = self._matches.get(pattern, (len(self.text) + 1, None))
        if asked <= start and (found is None or start <= found.start()):
            return found
        found = pattern.search(self.text, start)
        self._matches[pattern] = (start, found)
        return found

    def prefer(self, *dialects: str) -> str:
        """The first of these dialects that is enabled, or else just the first.

        One opener may belong to several dialects; a call carries the name of one that was asked for.
        """
        return next((dialect for dialect in dialects if dialect in self.enabled), dialects[0])
