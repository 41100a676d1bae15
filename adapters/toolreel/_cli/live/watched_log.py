"""The journal of a live run, with somebody who watches it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from toolreel._driver.ports import Wanted
from toolreel._driver.timing import NOT_MEASURED, Lap
from toolreel._replay.fork import EventLog
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.events import Event
from toolreel_core._protocol.state import State


class RunWatcher(Protocol):
    """Is told of each event of a live run."""

    def begin(self, plan: Plan, state: State | None) -> None:
        """A run begins, or goes on from a state."""
        ...

    def answered(self, effect: Wanted | None, event: Event, lap: Lap) -> None:
        """An event is in the journal, with the effect that it answers and its times."""
        ...


class WatchedLog:
    """An event log that tells a watcher of each event, once it is recorded."""

    def __init__(self, log: EventLog, watcher: RunWatcher) -> None:
        self._log, self._watcher = log, watcher

    def withhold(self, secrets: Mapping[str, str]) -> None:
        """Pass on secrets that must not be written."""
        self._log.withhold(secrets)

    def record(self, effect: Wanted | None, event: Event) -> Event:
        """Record an event without times."""
        kept = self._log.record(effect, event)
        self._watcher.answered(effect, kept, NOT_MEASURED)
        return kept

    def record_timed(self, effect: Wanted | None, event: Event, lap: Lap) -> Event:
        """Record an event with its times."""
        kept = self._log.record_timed(effect, event, lap)
        self._watcher.answered(effect, kept, lap)
        return kept
