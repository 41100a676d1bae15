"""A result on its way to the model: the last transforms, then its text."""

from __future__ import annotations

from toolreel.envelope import Envelope
from toolreel.jsontext import JsonText, canonical
from toolreel.notes import QuirkApplied
from toolreel.state import State
from toolreel.transforms import apply_all

__all__ = ["told"]

_GUARD = "tool_result_special_tokens_neutralized"


def told(state: State, result: Envelope) -> tuple[JsonText, tuple[QuirkApplied, ...]]:
    """The text of a result as the run's transforms leave it, and what they changed.

    With ``special_token_guard``, a chat template's control tokens lose their power last of all.
    """
    guard = (_GUARD,) if state.plan.provider.special_token_guard else ()
    names = (*state.plan.config.tool_result_transforms, *guard)
    if not names:
        return result.text(), ()
    applied = apply_all("tool_result", names, result.tree())
    notes = (QuirkApplied(state.tally.turns, name) for name in applied.changed)
    return canonical(applied.tree), tuple(notes)
