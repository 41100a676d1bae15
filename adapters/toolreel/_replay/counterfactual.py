"""Counterfactual replay: the outcome of recorded answers under another configuration."""

from __future__ import annotations

from dataclasses import dataclass

from toolreel._driver.run import outcome_of, retold
from toolreel._replay.carry_over import Stop
from toolreel._replay.changes import Changes
from toolreel._replay.fork import Forked, fork
from toolreel._replay.trace import Source
from toolreel_core._protocol.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """The result of a counterfactual replay."""

    forked: Forked
    was: Outcome | None
    """The outcome of the recorded run; ``None`` if it has not ended."""

    @property
    def now(self) -> Outcome | None:
        """The outcome under the other configuration; ``None`` if the record does not fit to the end."""
        return self.forked.outcome

    @property
    def carried(self) -> int:
        """The number of recorded events that were used."""
        return len(self.forked.answered)

    @property
    def stop(self) -> Stop | None:
        """Where the record no longer fitted, and why; ``None`` if the run ended."""
        return self.forked.stop


def counterfactual(source: Source, changes: Changes) -> Counterfactual:
    """Run the recorded answers under another configuration, as far as they fit; nothing is performed.

    The recorded replies answer the requests in order, and the recorded results answer equal calls. The run
    stops where it needs an answer that the record does not have, and may end before the record does.

    >>> from toolreel.demo._session import demo_cassette
    >>> told = counterfactual(demo_cassette(), Changes(config={"max_turns": 1}))
    >>> told.was.name, told.now.name, told.carried
    ('completed', 'max_turns', 2)
    """
    forked = fork(source, 0, changes)
    recorded = forked.begun.source
    return Counterfactual(forked, outcome_of(retold(recorded.plan, recorded.events)))
