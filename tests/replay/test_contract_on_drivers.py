"""Conversations of the loop's contract, with servers that speak each form, on each driver.

The reducer plays all of them in each form (``tests/domain/loop``); what it has heard there is a journal here.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType

import pytest

from tests.domain.loop import test_contract
from tests.domain.loop.checks import test_conversations_with_checks as checks
from tests.domain.loop.context import test_conversations_with_summaries as summaries
from tests.domain.loop.output import test_final_output as output
from tests.domain.loop.test_contract_in_other_forms import IN_WORDS_OF_CHAT, NOT_ABOUT_FORMS
from tests.wire_forms import OTHER_FORMS, Conversation, ReducerIn
from toolreel._journal import MemoryJournal
from toolreel._replay import DRIVERS, Driver, Underway, replay
from toolreel_core._protocol import CancelRequested, RunStarted, UserSpoke
from toolreel_core._settings import WireForm

FORMS: tuple[WireForm, ...] = ("chat_completions", *OTHER_FORMS)
MODULES = (test_contract, checks, output, summaries)

REPRESENTATIVE = {
    "test_a_run_that_waits_for_a_summary_can_be_stored",
    "test_a_provider_error_in_http_200_with_a_passing_code_is_retried",
    "test_a_wrong_answer_is_told_and_asked_for_again",
    "test_an_error_in_mid_stream_is_the_whole_reply_and_nothing_of_it_runs",
    "test_calls_pass_mask_size_schema_and_approval_in_this_order",
    "test_enforced_runs_with_a_call_that_worked_complete",
    "test_every_turn_is_streamed_where_the_plan_wants_that",
    "test_of_tools_that_run_at_once_each_counts_what_it_spent",
}
"""Conversations that have all kinds of effects between them."""


def names_in(*modules: ModuleType) -> set[str]:
    return {
        name
        for module in modules
        for name, value in vars(module).items()
        if name.startswith("test_") and not inspect.signature(value).parameters
        # What has no reply, and what is about the words of chat, is settled elsewhere.
        if name not in IN_WORDS_OF_CHAT | NOT_ABOUT_FORMS
    }


def conversations(form: WireForm, names: set[str]) -> list[Conversation]:
    """The runs of these tests that have ended and that a driver could have recorded."""
    spoken = ReducerIn(form)
    with pytest.MonkeyPatch.context() as patch:
        spoken.patch(patch, *MODULES)
        for module in MODULES:
            for name in names & vars(module).keys():
                getattr(module, name)()
    return [run for run in spoken.settled() if is_recordable(run)]


def is_recordable(run: Conversation) -> bool:
    """Whether answers come as drivers give them: in the order of the effects, and ever later."""
    answers = [
        event for event in run.events if not isinstance(event, CancelRequested | RunStarted | UserSpoke)
    ]
    refs, times = [event.ref for event in answers], [event.at_ms or 0 for event in answers]
    return refs == sorted(refs) and times == sorted(times)


def recorded(run: Conversation) -> str:
    """The journal of a conversation."""
    underway = Underway(run.plan)
    journal = MemoryJournal(run.plan)
    for event in run.events:
        effect = underway.wanted.get(getattr(event, "ref", 0))
        journal.record(effect, event)
        underway.take_event(effect, event)
    return journal.text


def check(form: WireForm, driver: Driver, names: set[str], folder: Path) -> int:
    """Replay what the reducer has played, and count it."""
    path = folder / "run.journal.jsonl"
    assert names <= names_in(*MODULES)
    runs = conversations(form, names)
    for run in runs:
        path.write_text(recorded(run), encoding="utf-8")
        again = replay(path, driver=driver)
        assert again.run.outcome == run.at.state.outcome
        assert again.run.state == run.at.state
    return len(runs)


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("form", FORMS)
def test_representative_conversations(form: WireForm, driver: Driver, tmp_path: Path) -> None:
    assert check(form, driver, REPRESENTATIVE, tmp_path) >= len(REPRESENTATIVE)


@pytest.mark.slow
@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("form", FORMS)
def test_all_conversations(form: WireForm, driver: Driver, tmp_path: Path) -> None:
    # Checks and summaries are about the text and the size of requests, which are those of chat.
    names = names_in(*(MODULES if form == "chat_completions" else (test_contract, output)))
    assert check(form, driver, names, tmp_path) > len(names) // 2
