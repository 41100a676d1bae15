"""The header of a cassette: its own rules, and the values that were frozen while it was recorded.

::

    toolreel: 1
    version: 1
    vary:
      - pattern: 'Now: [0-9-]{10} [0-9:]{5}'
        becomes: 'Now: <time>'
    now: '2026-11-22T14:03:00+00:00'
    seed: 1804289383
    interactions: …

A key that is not needed is left out. A session draws its time, and the seed of its ids and random numbers,
once; each replay gets the same.
"""

from __future__ import annotations

import hashlib
import random
import secrets
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import RLock
from typing import Any, Final
from uuid import UUID

from toolreel._internal import CassetteError, VaryError
from toolreel.cassette._vary import Vary, rule_of, stored

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


_SEEDS: Final = 2**32


class FrozenValues:
    """The values of one session. Thread-safe.

    :param header: what was recorded
    :param draws: whether a value that was not recorded is drawn; otherwise it is an error
    :param name: of the recording, for messages
    """

    def __init__(self, header: Header, *, draws: bool, name: str) -> None:
        self.header = header
        """With all values drawn so far."""
        self._draws: Final = draws
        self._name: Final = name
        self._lock: Final = RLock()
        self._made: Final[Counter[str]] = Counter()
        self._random: random.Random | None = None

    @property
    def now(self) -> datetime:
        """The time of the recording, in UTC and whole seconds.

        :raises CassetteError: in a replay, if it was not recorded
        """
        with self._lock:
            now = self.header.now
            if now is None:
                self._refuse("now")
                now = datetime.now(UTC).replace(microsecond=0)
                self.header = replace(self.header, now=now)
            return now

    def new_id(self, name: str) -> str:
        """The next id of this name, as a UUID; ids of other names don't change it.

        :raises CassetteError: in a replay, if no seed was recorded
        """
        with self._lock:
            seed = self._seed("new_id()")
            self._made[name] += 1
            material = f"{seed}:{self._made[name]}:{name}"
        return str(UUID(bytes=hashlib.sha256(material.encode()).digest()[:16], version=4))

    @property
    def random(self) -> random.Random:
        """One generator for the whole session.

        :raises CassetteError: in a replay, if no seed was recorded
        """
        with self._lock:
            if self._random is None:
                self._random = random.Random(self._seed("random"))  # noqa: S311 - repeatable, not secret
            return self._random

    def _seed(self, wanted: str) -> int:
        seed = self.header.seed
        if seed is None:
            self._refuse(wanted)
            seed = secrets.randbelow(_SEEDS)
            self.header = replace(self.header, seed=seed)
        return seed

    def _refuse(self, wanted: str) -> None:
        if not self._draws:
            raise CassetteError(
                f"{self._name}: was recorded by a session that did not use {wanted}: record it again"
            )
