"""Counterfactual replay: what the recorded answers of a run come to under another configuration."""

from __future__ import annotations

from dataclasses import dataclass

from toolreel._driver.run import outcome_of, retold
from toolreel._replay.carry_over import Stop
from toolreel._replay.changes import Changes
from toolreel._replay.fork import Forked, fork
from toolreel._replay.trace import Source
from toolreel_core._protocol.outcome import Outcome

__all__ = ["Counterfactual", "counterfactual"]


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """What the recorded answers come to under another configuration."""

    forked: Forked
    was: Outcome | None
    """How the recorded run ended; ``None`` if it has not."""

    @property
    def now(self) -> Outcome | None:
        """How it ends under the other configuration; ``None`` where the record does not carry that far."""
        return self.forked.outcome

    @property
    def carried(self) -> int:
        """How many of the recorded events were used."""
        return len(self.forked.answered)

    @property
    def stop(self) -> Stop | None:
        """Where the record did not carry on, and why; ``None`` if the run ended."""
        return self.forked.stop


def counterfactual(source: Source, changes: Changes) -> Counterfactual:
    """The recorded answers of a run under another configuration, as far as they carry.

    The recorded replies answer the requests in their order, and recorded results the calls that are the
    same. It stops where the run asks for something else than the record answers, and ends early where
    the run ends before the record does.

    >>> from toolreel.demo._session import demo_cassette
    >>> told = counterfactual(demo_cassette(), Changes(config={"max_turns": 1}))
    >>> told.was.name, told.now.name, told.carried
    ('completed', 'max_turns', 2)
    """
    forked = fork(source, 0, changes)
    recorded = forked.begun.source
    return Counterfactual(forked, outcome_of(retold(recorded.plan, recorded.events)))
