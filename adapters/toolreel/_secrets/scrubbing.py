"""Replaces known secrets in text that is shown: whole texts, and texts that arrive in pieces."""

from __future__ import annotations

from collections.abc import Mapping

from toolreel._secrets.known_values import spellings
from toolreel._secrets.project_rules import rules_in


def scrubbed(text: str, known: Mapping[str, str]) -> str:
    """The text without known secrets, in whatever spelling.

    >>> scrubbed("It is Bearer 3f2a90bc71.", {"MY_KEY": "3f2a90bc71"})
    'It is Bearer [value of MY_KEY].'
    """
    for name, value in known.items():
        for spelling in spellings(value.strip()) if value.strip() else ():
            text = text.replace(spelling, f"[value of {name}]")
    return text


def searched_for(known: Mapping[str, str]) -> dict[str, str]:
    """The secrets that the project's rules do not allow."""
    rules = rules_in()
    return {name: value for name, value in known.items() if not rules.allows(value.strip())}


class RunningScrub:
    """Scrubs a text in pieces: what may be the beginning of a secret is held back until more has come."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self._known = known
        values = (value.strip() for value in known.values())
        self._spellings = [spelling for value in values if value for spelling in spellings(value)]
        self._held = ""

    def feed(self, text: str) -> str:
        """What can be shown after the next piece."""
        text = scrubbed(self._held + text, self._known)
        kept = max((_overlap(text, spelling) for spelling in self._spellings), default=0)
        self._held = text[len(text) - kept :]
        return text[: len(text) - kept]

    def close(self) -> str:
        """What was held back, at the end of the text."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, spelling: str) -> int:
    """The length of the longest end of the text with which the spelling begins."""
    longest = min(len(text), len(spelling) - 1)
    return next((size for size in range(longest, 0, -1) if spelling.startswith(text[-size:])), 0)
