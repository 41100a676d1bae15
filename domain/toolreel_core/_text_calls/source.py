"""A text to search for calls, with the known tools and enabled dialects."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from toolreel_core._jsontext.json_repair import SearchedText
from toolreel_core._text_calls.known_tools import Offered


@dataclass(frozen=True, slots=True)
class Source(SearchedText):
    """A text to search, the tools that exist, and the enabled dialects."""

    offered: Offered
    enabled: AbstractSet[str]
    """The dialects to look for."""
    cut: bool
    """Whether the text was truncated, so that an unclosed call may be incomplete."""
    _matches: dict[re.Pattern[str], tuple[int, re.Match[str] | None]] = field(
        default_factory=dict[re.Pattern[str], "tuple[int, re.Match[str] | None]"], init=False, compare=False
    )

    def search(self, pattern: re.Pattern[str], start: int) -> re.Match[str] | None:
        """The next match of a pattern, cached: repeated searches for one closer stay linear.

        :param pattern: without look-behind, because a cached match may have been found from an earlier start
        """
        searched_from, found = self._matches.get(pattern, (len(self.text) + 1, None))
        if searched_from <= start and (found is None or start <= found.start()):
            return found
        found = pattern.search(self.text, start)
        self._matches[pattern] = (start, found)
        return found

    def prefer(self, *dialects: str) -> str:
        """The first of these dialects that is enabled, or else just the first.

        One opener may belong to several dialects; a call gets the name of an enabled one.
        """
        return next((dialect for dialect in dialects if dialect in self.enabled), dialects[0])
