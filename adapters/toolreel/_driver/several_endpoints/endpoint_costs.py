"""What each endpoint of a run has cost: the counts of the whole run, cut where it went on at another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from toolreel_core._protocol import EndpointChanged, Note, State


@dataclass(frozen=True, slots=True)
class EndpointCost:
    """What one endpoint of a run with fallbacks took. What tools spend counts where the run was."""

    endpoint: str
    """The name of the fallback; empty for the plan's own endpoint."""
    model: str
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """``None`` if that of one of its replies is unknown, or of one before it."""


def endpoint_costs(state: State, notes: Sequence[Note]) -> tuple[EndpointCost, ...]:
    """A row for each endpoint that has had a turn, in order."""
    plan, rows = state.plan, list[EndpointCost]()
    models = {"": plan.model} | {fallback.name: fallback.model for fallback in plan.fallbacks}
    before: tuple[int, int, float | None] = (0, 0, 0.0)
    for name, prompt, completion, cost in _totals(state, notes):
        known = 0.0 if cost is None and not prompt + completion else cost  # no reply yet is no cost
        spent = None if known is None or before[2] is None else known - before[2]
        rows.append(
            EndpointCost(name, models.get(name, ""), prompt - before[0], completion - before[1], spent)
        )
        before = prompt, completion, known
    return tuple(rows)


def _totals(state: State, notes: Sequence[Note]) -> Iterator[tuple[str, int, int, float | None]]:
    """The counts of the run so far, whenever it left an endpoint, and now."""
    for note in notes:
        if isinstance(note, EndpointChanged):
            yield note.before, note.prompt_tokens, note.completion_tokens, note.cost
    tally = state.tally
    yield state.endpoint_name, tally.prompt_tokens, tally.completion_tokens, tally.known_cost
