"""How long a run took, and everything in it: measured where it is live, told again where it is replayed.

Times are no part of a run: two runs with other times are the same run, and nothing is decided by them. What
limits the time of a run is on the events (``at_ms``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from toolreel._driver.ports import Wanted
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
