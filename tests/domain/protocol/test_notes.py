from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args

from hypothesis import given

from tests.strategies import runs
from toolreel_core._protocol import (
    LateAnswer,
    Note,
    OptionIgnored,
    PresetsApplied,
    RunSettled,
    SchemaReduced,
    Settled,
    Step,
    TextCallsOff,
)

KINDS: tuple[type[Any], ...] = get_args(Note)


def test_every_note_says_in_which_turn_unless_it_is_about_the_whole_run() -> None:
    without = {kind for kind in KINDS if "turn" not in {item.name for item in fields(kind)}}
    of_the_run = {PresetsApplied, OptionIgnored, SchemaReduced, TextCallsOff, LateAnswer, RunSettled}
    assert without == of_the_run


@given(runs())
def test_every_run_that_is_over_has_said_so_once_by_the_name_of_its_outcome(steps: tuple[Step, ...]) -> None:
    phase = steps[-1].state.phase
    said = [note for step in steps for note in step.notes if isinstance(note, RunSettled)]
    assert said == ([RunSettled(phase.outcome.name)] if isinstance(phase, Settled) else [])
