from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import member, runs
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
    note_sentence,
    notes,
)

SENTENCES: tuple[tuple[Note, str], ...] = (
    (OptionIgnored("seed", "unsupported"), "warn not sent: seed (the provider does not take it)"),
    (notes.QuirkApplied(1, "id_style", 2), "info changed for the provider: id_style, 2 times"),
    (
        notes.SummaryRequested(1, 5, 900, "", 2),
        "info the window was full: a summary of 5 messages was asked for, try 2",
    ),
    (
        notes.EndpointChanged(1, "", "backup", "timeout", 2, 0, 0, None),
        "warn the plan's own endpoint failed (timeout), so it goes on at backup; 2 messages go there without "
        "their reasoning",
    ),
    (
        notes.EndpointChanged(1, "backup", "last", "timeout", 0, 0, 0, None),
        "warn backup failed (timeout), so it goes on at last",
    ),
    (notes.ReplyRead(1, "stop", 0, 0, 0), "silent "),
    (
        notes.ReplyRead(1, "unknown", 0, 0, 0, "INVALID_BODY"),
        "bad INVALID_BODY: The body is not a JSON object; nothing was read.",
    ),
    (notes.RepairApplied(1, "OF_ANOTHER_RELEASE"), "warn OF_ANOTHER_RELEASE"),
    (notes.ContentStripped(1, 1200, "So"), "info the text with the calls is not stored (1,200 characters)"),
    (notes.RequestLost(1, "status", 503), "bad no reply: status 503"),
    (notes.RequestLost(1, "connect", None), "bad no reply: connect"),
    (notes.CallEnded(1, "c", "pay", True, (), 9), "silent "),
    (notes.CallEnded(1, "c", "pay", False, (), 9), "bad pay failed: without a code"),
    (notes.ToolsWithheld(1, ("pay", "look")), "warn not offered, since the model repeats itself: pay, look"),
    (
        notes.OutputRejected(1, "/a: missing", True),
        "bad the answer does not fit the output; the model is asked again: /a: missing",
    ),
    (LateAnswer(1), "silent "),
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


@pytest.mark.parametrize(("note", "words"), SENTENCES)
def test_a_note_says_what_happened(note: Note, words: str) -> None:
    assert " ".join(note_sentence(note)) == words


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_every_kind_of_note_can_be_said_and_a_silent_one_says_nothing(
    kind: type[Any], data: st.DataObject
) -> None:
    level, sentence = note_sentence(data.draw(member(kind)))
    assert level != "silent" or not sentence
