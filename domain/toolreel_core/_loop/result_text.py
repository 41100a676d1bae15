"""Render a tool result for the model: apply the plan's transforms, then encode it."""

from __future__ import annotations

from toolreel_core._jsontext.canonical import JsonText, canonical
from toolreel_core._protocol.notes import QuirkApplied
from toolreel_core._protocol.state import State
from toolreel_core._tools.result import Envelope
from toolreel_core._transforms import apply_all


def rendered(state: State, result: Envelope) -> tuple[JsonText, tuple[QuirkApplied, ...]]:
    """The text of a result after the plan's transforms, and a note for each that changed it."""
    labelled = ("untrusted_tools",) if result.untrusted else ()
    if not state.plan.config.tool_result_transforms:
        return result.text(), tuple([QuirkApplied(state.tally.turns, name) for name in labelled])
    applied = apply_all("tool_result", state.plan.config.tool_result_transforms, result.tree())
    notes = (QuirkApplied(state.tally.turns, name) for name in (*labelled, *applied.changed))
    return canonical(applied.tree), tuple(notes)
