"""The header of a cassette: its own rules, and the time and seed that were frozen while it was recorded.

::

    toolreel: 1
    version: 1
    vary:
      - pattern: 'Now: [0-9-]{10} [0-9:]{5}'
        becomes: 'Now: <time>'
    now: '2026-11-22T14:03:00+00:00'
    seed: 1804289383
    interactions: …

A key that is not needed is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from toolreel._internal.errors import CassetteError, VaryError
from toolreel.cassette._varying.rule import Vary, rule_of, stored

KEYS: Final = ("vary", "now", "seed")


@dataclass(frozen=True, slots=True)
class Header:
    """What a cassette says besides its interactions."""

    vary: tuple[Vary, ...] = ()
    now: datetime | None = None
    """With a time zone; ``None`` if the session didn't ask for it."""
    seed: int | None = None
    """Of the ids and random numbers; ``None`` if the session didn't ask for any."""

    @property
    def stored(self) -> dict[str, Any]:
        """The keys that go into the file."""
        return {
            **({"vary": [stored(rule) for rule in self.vary]} if self.vary else {}),
            **({} if self.now is None else {"now": self.now.isoformat()}),
            **({} if self.seed is None else {"seed": self.seed}),
        }


def header_of(tree: Mapping[str, Any]) -> Header:
    """The header in the top mapping of a file.

    :raises VaryError: if a rule cannot be used; names its place
    :raises CassetteError: if the time or the seed cannot
    """
    return Header(_vary(tree.get("vary", [])), _now(tree), _seed(tree))


def _vary(entries: object) -> tuple[Vary, ...]:
    if not isinstance(entries, list):
        raise VaryError("vary: expected a list of rules, each with at, pattern or becomes")
    return tuple(rule_of(entry, f"vary[{n}]") for n, entry in enumerate(entries))


def _now(tree: Mapping[str, Any]) -> datetime | None:
    if "now" not in tree:
        return None
    try:
        now = datetime.fromisoformat(tree["now"])
    except (TypeError, ValueError):
        now = None
    if now is None or now.tzinfo is None:
        raise CassetteError(
            f"now: {tree['now']!r} is no time with a time zone in quotes, such as '2026-11-22T14:03:00+00:00'"
        )
    return now


def _seed(tree: Mapping[str, Any]) -> int | None:
    if "seed" not in tree:
        return None
    seed = tree["seed"]
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise CassetteError(f"seed: {seed!r} is no whole number from 0 on")
    return seed
