"""How long a run took, and everything in it: measured where it is live, told again where it is replayed.

Times are no part of a run: two runs with other times are the same run, and nothing is decided by them. What
limits the time of a run is on the events (``at_ms``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf
from typing import Final, Literal, NamedTuple, TypeAlias

from toolreel._driver.ports import Journal, Wanted
from toolreel_core._protocol import CancelRequested, Event, RunTool, SendRequest, Wait

EffectTimeKind: TypeAlias = Literal["request", "tool", "approval", "wait", "cancelled"]


# Named tuples, since a driver makes one of each for every effect, and they take less than frozen dataclasses.


class Lap(NamedTuple):
    """The times of one event, in milliseconds; a journal has them next to the event."""

    ms: int | None
    """How long its effect took; ``None`` if the record does not say."""
    passed_ms: int | None
    """How long the run went on since the event before: less than ``ms`` where several ran together."""
    first_ms: int | None = None
    """When the first piece of a reply came, where somebody was waiting for pieces."""


NOT_MEASURED: Final = Lap(None, None)
"""The times of an event whose record has none."""


class EffectTime(NamedTuple):
    """How long one request, tool call, approval or wait took."""

    kind: EffectTimeKind
    """``cancelled`` is what was under way when the run was cancelled."""
    name: str
    """The tool's inner name, such as ``files.read``; empty where it is no tool."""
    ref: int | None
    """The number of the effect, as events and the journal have it."""
    turn: int
    """Of the run, counted from 1."""
    ms: int | None
    """``None`` if the record does not say."""
    passed_ms: int | None
    """How long the run went on since the one before: less than ``ms`` where several ran together."""
    first_ms: int | None = None
    """When the first piece of a streamed reply came; only where the run was streamed."""
    call_id: str = ""
    """Of the tool call, or of that which needs approval; else empty."""

    @classmethod
    def of(cls, effect: Wanted | None, event: Event, lap: Lap, turn: int) -> EffectTime:
        """What an effect took, from its times."""
        if effect is None or isinstance(event, CancelRequested):
            return cls("cancelled", "", None, turn, *lap)
        if isinstance(effect, SendRequest | Wait):
            return cls("request" if isinstance(effect, SendRequest) else "wait", "", effect.ref, turn, *lap)
        kind: EffectTimeKind = "tool" if isinstance(effect, RunTool) else "approval"
        return cls(kind, effect.name, effect.ref, turn, *lap, effect.call_id)


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a run took, in milliseconds, without the time in which nothing performed it.

    A sum is ``None`` if nothing was measured, or if one of its parts was not.
    """

    took: tuple[EffectTime, ...] = ()
    """Every request, tool call, approval and wait, in the order of the journal."""

    @property
    def total_ms(self) -> int | None:
        """The whole run; less than the sum of its parts where tools ran together."""
        return _sum(took.passed_ms for took in self.took) if self.took else None

    @property
    def model_ms(self) -> int | None:
        """All requests together."""
        return self._sum_of("request")

    @property
    def tools_ms(self) -> int | None:
        """All tool calls together."""
        return self._sum_of("tool")

    @property
    def waiting_ms(self) -> int | None:
        """All waits between retries, and all waiting for approvals."""
        return self._sum_of("wait", "approval")

    @property
    def requests(self) -> tuple[EffectTime, ...]:
        """The requests, with those that failed."""
        return tuple(took for took in self.took if took.kind == "request")

    @property
    def tools(self) -> tuple[EffectTime, ...]:
        """The tool calls."""
        return tuple(took for took in self.took if took.kind == "tool")

    def __add__(self, later: Timing) -> Timing:
        """The times of a run and of what followed."""
        return Timing(self.took + later.took)

    def __str__(self) -> str:
        """For people; empty if the whole is unknown.

        >>> print(
        ...     Timing((EffectTime("request", "", 1, 1, 1150, 1150), EffectTime("tool", "add", 2, 1, 40, 41)))
        ... )
        1.1 s (model 1.1 s, tools 40 ms)
        """
        if self.total_ms is None:
            return ""
        parts = {"model": self.model_ms, "tools": self.tools_ms, "waiting": self.waiting_ms}
        shown = ", ".join(f"{name} {duration(ms)}" for name, ms in parts.items() if ms)
        return duration(self.total_ms) + (f" ({shown})" if shown else "")

    def _sum_of(self, *kinds: EffectTimeKind) -> int | None:
        return _sum(took.ms for took in self.took if took.kind in kinds) if self.took else None


def _sum(parts: Iterable[int | None]) -> int | None:
    total = 0
    for ms in parts:
        if ms is None:
            return None
        total += ms
    return total


def duration(ms: int) -> str:
    """Milliseconds for people.

    >>> duration(40), duration(1234), duration(83_000), duration(3_720_000)
    ('40 ms', '1.2 s', '1 min 23 s', '1 h 2 min')
    """
    seconds, minutes = ms // 1000, ms // 60_000
    if not seconds:
        return f"{ms} ms"
    if not minutes:
        return f"{seconds}.{ms % 1000 // 100} s"
    if minutes < 60:
        return f"{minutes} min {seconds % 60} s"
    return f"{minutes // 60} h {minutes % 60} min"


_ENDS_AT: Final = ContextVar("toolreel_run_ends_at", default=inf)


def time_left() -> float:
    """Seconds until the run is over, at least 0; infinite if its time is not limited."""
    return max(0.0, _ENDS_AT.get() - time.monotonic())


@contextmanager
def ending_at(moment: float) -> Generator[None]:
    """Limit the time of what happens inside. A run inside a tool of another run ends with it at the latest.

    :param moment: on the clock of ``time.monotonic``
    """
    before = _ENDS_AT.set(min(moment, _ENDS_AT.get()))
    try:
        yield
    finally:
        _ENDS_AT.reset(before)


def record(journal: Journal | None, effect: Wanted | None, event: Event, lap: Lap | None) -> Event:
    """Record an event, with its times in a journal that keeps them; the event that the run continues with.

    A journal that keeps none has no method ``record_timed``.
    """
    if journal is None:
        return event
    timed: Callable[[Wanted | None, Event, Lap], Event | None] | None
    timed = getattr(journal, "record_timed", None)
    written = journal.record(effect, event) if timed is None or lap is None else timed(effect, event, lap)
    return written or event


class LapTimes:
    """The times of what a driver performs, from its begin on.

    The clock is that of the ports if it tells the time (``now``, in seconds), else the system's. A performer
    that answers from a record has a method ``lap_of``: the recorded times of an effect that it has answered,
    or ``None`` if it was performed just now. Effects that run together are started and stopped in threads of
    their own, and taken by the driver, in its order.
    """

    def __init__(self, performer: object) -> None:
        self._now: Callable[[], float] = getattr(getattr(performer, "clock", None), "now", time.monotonic)
        self._recorded: Callable[[Wanted], Lap | None] | None = getattr(performer, "lap_of", None)
        self._began = self._now()
        self._counted = 0
        """The milliseconds since then that are in laps."""
        self._times: dict[int, list[float]] = {}
        """When each effect was started, when its first piece came, if it was streamed, and when it ended."""
        self._took: list[EffectTime] = []

    @property
    def timing(self) -> Timing:
        """The times so far."""
        return Timing(tuple(self._took))

    def start(self, effect: Wanted) -> None:
        """Note that an effect begins."""
        self._times[effect.ref] = [self._now()]

    def arrive(self, effect: Wanted) -> bool:
        """Note that a piece of a reply has come; whether it is the first."""
        times = self._times[effect.ref]
        if is_first := len(times) == 1:
            times.append(self._now())
        return is_first

    def stop(self, effect: Wanted) -> None:
        """Note that an effect has ended."""
        self._times[effect.ref].append(self._now())

    def take(self, effect: Wanted, event: Event, turn: int) -> Lap:
        """The times of an effect that has ended, of the event that came of it, in this turn."""
        started, *first, ended = self._times.pop(effect.ref)
        lap = None if self._recorded is None else self._recorded(effect)
        if lap is None:
            first_ms = _ms(first[0] - started) if first else None
            lap = Lap(_ms(ended - started), self._passed(ended), first_ms)
        else:  # what follows goes on from here: reading a record takes a run no time
            self._began, self._counted = ended, 0
        self._took.append(EffectTime.of(effect, event, lap, turn))
        return lap

    def rest(self) -> Lap:
        """The time since the last effect that ended: that of what is cancelled now."""
        passed = self._passed(self._now())
        return Lap(passed, passed)

    def _passed(self, now: float) -> int:
        # Less than 0: of several that ran together, one that was done before the others.
        passed = max(0, _ms(now - self._began) - self._counted)
        self._counted += passed
        return passed


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
