"""A clock that stands still, ids and random numbers: drawn once, recorded, and the same in each replay."""

from __future__ import annotations

import hashlib
import random
import secrets
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from threading import RLock
from typing import Final
from uuid import UUID

from toolreel._internal.errors import CassetteError
from toolreel.cassette._varying.header import Header

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
