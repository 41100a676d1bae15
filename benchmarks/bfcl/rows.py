"""Rows of the matrix: all cases under one wire shape, one strategy and one way of batching.

The leaderboard's package is looked for here, in the process that plays, and nowhere else.
"""

from __future__ import annotations

import ssl
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context

import httpx

from benchmarks.bfcl.cases import CATEGORIES, FOLDER, Category, cases
from benchmarks.bfcl.model import Way, serving
from benchmarks.bfcl.playback import difference, script
from benchmarks.bfcl.shapes import SHAPES
from benchmarks.bfcl.strategies import Strategy
from benchmarks.bfcl.waivers import WAIVERS
from toolreel.http import HttpEndpoint

__all__ = ["Row", "Settings", "played", "unexpected"]

_NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Reading the machine's certificates takes long, and loopback needs none."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a row is about."""

    shape: str
    strategy: Strategy
    way: Way

    def __str__(self) -> str:
        return f"{self.shape}, {self.strategy}, {self.way}"


@dataclass(slots=True)
class Row:
    """What came of a row."""

    settings: Settings
    cases: int = 0
    """How many were played."""
    apart: dict[str, str] = field(default_factory=dict)
    """The first difference from the twin world, by case."""

    @property
    def broken(self) -> int:
        """How many cases that are not waived came out otherwise than in the twin world."""
        return len(self.apart.keys() - WAIVERS.keys())


def played(rows: Sequence[Settings], only: Collection[str], jobs: int) -> Iterator[Row]:
    """Play rows in processes of their own, a category at a time.

    :param only: the cases to play; all, if there are none
    """
    parts = [(settings, category) for settings in rows for category in CATEGORIES]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_find_package) as pool:
        results = pool.map(_part, *zip(*((*part, tuple(only)) for part in parts), strict=True))
        for settings in rows:
            row = Row(settings)
            for _ in CATEGORIES:
                count, apart = next(results)
                row.cases += count
                row.apart |= apart
            yield row


def unexpected(row: Row, only: Collection[str]) -> Iterator[str]:
    """What must not be in a row under ``production``: cases that break, and waivers that do not hold."""
    for case, apart in row.apart.items():
        if case not in WAIVERS or WAIVERS[case].fault not in apart:
            yield f"{case} ({row.settings}): {apart}"
    for case in WAIVERS:
        if case not in row.apart and (not only or case in only):
            yield f"{case} ({row.settings}): it is waived, and came out well; take the waiver back"


def _find_package() -> None:
    sys.path.insert(0, str(FOLDER))


def _part(settings: Settings, category: Category, only: Collection[str]) -> tuple[int, Mapping[str, str]]:
    """How many cases of a category were played, and what was not as in the twin world."""
    chosen = [case for case in cases(category) if not only or case.id in only]
    transport = httpx.HTTPTransport(verify=_NO_CERTIFICATES)
    with (
        serving(script(chosen), SHAPES[settings.shape], settings.way) as url,
        HttpEndpoint(url, transport=transport) as endpoint,
    ):
        found = ((case.id, difference(case, endpoint, settings.strategy)) for case in chosen)
        return len(chosen), {case: apart for case, apart in found if apart}
