"""Durable runs of a database, as entries of the list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolreel._journal.format import Recorded
from toolreel._ui.entry import Entry, Facts
from toolreel.durable import DurableRuns
from toolreel.durable._looks import RunLook, RunLooks

_SHOWN: Final = 500
"""Runs that are listed."""


class DatabaseRuns:
    """The newest runs of a database, those that go on first."""

    def __init__(self, runs: DurableRuns) -> None:
        self._runs, self._looks = runs, RunLooks(runs)

    def entries(self) -> Sequence[Entry]:
        """The runs as they are now."""
        return [_entry(look) for look in self._looks.newest(_SHOWN)]

    def recorded(self, run_id: str) -> Recorded:
        """The journal of one run so far."""
        return self._runs.get(run_id).recorded


def _entry(look: RunLook) -> Entry:
    run = look.summary
    state = run.outcome or run.status
    note = f"waits for {look.waits_for}" if look.waits_for else run.problem
    facts = Facts(state, run.model, look.turn or None, None, look.tokens or None, look.cost, note)
    return Entry("durable", run.run_id, int(run.updated.timestamp() * 1000), None, facts)
