"""The recorded sessions, forked and compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.replay.sessions import CASSETTES, cassette
from tests.wire_forms import OTHER_FORMS, events_of, said_in
from toolreel import Plan, Provider, run
from toolreel._driver import Ports
from toolreel._journal import MemoryJournal, journal_path, parse_journal, read_journal
from toolreel._replay import Changes, diff, fork
from toolreel.testing import ScriptedEndpoint, calling, saying
from toolreel.tools import PythonTools
from toolreel_core._jsontext import Tree, canonical
from toolreel_core._protocol import Completed, EmptyFinal
from toolreel_core._settings import WireForm

each_cassette = pytest.mark.parametrize("path", CASSETTES, ids=lambda path: path.parent.name)


@each_cassette
def test_forked_anywhere_with_no_change_and_its_own_answers_a_session_is_the_same(path: Path) -> None:
    recorded = read_journal(journal_path(path))
    for at in range(len(recorded.records) + 1):
        forked = fork(path, at)
        assert forked.recorded.digest == recorded.digest
        assert forked.kept == at


@each_cassette
def test_a_session_does_not_differ_from_itself(path: Path) -> None:
    assert diff(path, journal_path(path)).same


@each_cassette
def test_under_another_model_and_seed_the_recorded_answers_carry_to_the_end(path: Path) -> None:
    told = fork(path, 0, Changes(model="other", options={"seed": 8}, seed=1))
    assert told.stop is None
    difference = diff(path, told.recorded)
    assert [change.place for change in difference.plan] == ["model", "options.seed", "seed"]
    assert difference.first is None


def test_two_sessions_part_where_one_of_them_asks_once_more() -> None:
    difference = diff(cassette("recovered"), cassette("empty-final"))
    assert [change.place for change in difference.plan] == ["config.fix_empty_final"]
    assert difference.first
    assert (difference.first.n, difference.first.turn, difference.first.aspect) == (6, 4, "end")
    told = fork(cassette("recovered"), 0, Changes(config={"fix_empty_final": False}))
    assert (told.outcome, len(told.answered)) == (EmptyFinal(), 5)


def test_without_its_dialects_a_session_asks_for_a_call_unless_it_takes_the_text_for_its_answer() -> None:
    asks = fork(cassette("workspace"), 0, Changes(config={"text_dialects": []}))
    assert (asks.outcome, len(asks.answered)) == (None, 1)
    blind: Tree = {"text_dialects": [], "accept_suspected_calls": True}
    told = fork(cassette("workspace"), 0, Changes(config=blind))
    assert isinstance(told.outcome, Completed)
    assert told.outcome.content.startswith("```json")
    assert len(told.answered) == 1


# A recorded run goes on in another wire form: its kept replies are read in the form that they came in.


FORMS: tuple[WireForm, ...] = ("chat_completions", *OTHER_FORMS)
KEPT = 2
"""A reply with a call, and its result."""


def stock(part: str) -> int:
    """How many of a part are in stock."""
    return len(part)


def answer(form: WireForm, body: Tree, *, streamed: bool = False) -> str:
    said = said_in(form, canonical(body))
    if streamed and form != "chat_completions":
        return "".join(events_of(form, json.loads(said)))
    return said


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("was", FORMS)
@pytest.mark.parametrize("now", FORMS)
def test_a_run_goes_on_in_another_form(was: WireForm, now: WireForm, streamed: bool) -> None:
    tools = PythonTools([stock])
    plan = Plan.of(model="m", messages="How many?", tools=tools.surface, provider=Provider(wire_form=was))
    call, journal = calling(("stock", {"part": "pin"})), MemoryJournal(plan)
    script = [answer(was, call, streamed=streamed), answer(was, saying("There are 3."))]
    run(plan, Ports(ScriptedEndpoint(script), tools), journal=journal)
    endpoint = ScriptedEndpoint([answer(now, saying("Three."))])
    changes = Changes(provider={"wire_form": now})
    forked = fork(parse_journal(journal.text), KEPT, changes, performer=Ports(endpoint, tools))
    assert forked.run.outcome == Completed("Three.")
    (seen,) = endpoint.asked
    assert seen.request.form == now
    assert '\\"value\\":3' in seen.request.body
