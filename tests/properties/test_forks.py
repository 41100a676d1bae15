"""Forks of whatever can happen, under whatever configuration."""

from __future__ import annotations

import json
from dataclasses import fields, replace

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.strategies import answers, configs, plans
from toolreel._journal import MemoryJournal, Recorded, parse_journal
from toolreel._replay import Changes, Underway, diff, fork, retrace
from toolreel_core._loop import fold
from toolreel_core._protocol import Settled
from toolreel_core._settings import LoopConfig


@st.composite
def records(draw: st.DrawFn) -> Recorded:
    """The journal of a short run, with answers that came too late in it."""
    run = Underway(draw(plans))
    journal = MemoryJournal(run.state.plan)
    for _ in range(draw(st.integers(0, 5))):
        event = draw(answers(run.state))
        effect = run.wanted.get(getattr(event, "ref", 0))
        journal.record(effect, event)
        run.take_event(effect, event)
    return parse_journal(journal.text)


@given(records(), st.data())
def test_a_fork_without_a_change_is_the_same_run(source: Recorded, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(source.records)))
    forked = fork(source, at)
    assert forked.recorded.text == source.text
    assert (forked.stop is None) == isinstance(forked.run.state.phase, Settled)
    assert diff(source, forked.recorded).same


@given(records(), configs)
def test_under_any_other_configuration_a_record_carries_as_far_as_it_folds(
    source: Recorded, config: LoopConfig
) -> None:
    # A run has to have tools before it can be made to call one.
    assume(config.tool_use_mode != "enforced" or source.plan.tools.definitions)
    changes = {setting.name: getattr(config, setting.name) for setting in fields(config)}
    forked = fork(source, 0, Changes(config=changes))
    assert (forked.stop is None) == isinstance(forked.run.state.phase, Settled)
    assert forked.run.state == fold(forked.plan, forked.recorded.events).state
    assert retrace(forked.recorded).run == forked.run
    again = fork(forked.recorded, len(forked.answered))
    assert again.recorded.text == forked.recorded.text


@given(records(), records())
def test_any_two_runs_can_be_compared_either_way_round(one: Recorded, other: Recorded) -> None:
    there, back = diff(one, other), diff(other, one)
    assert there.same == back.same
    assert (there.first is None) == (back.first is None)
    if there.first and back.first:
        assert replace(there.first, changes=(), turn=0, a="", b="") == replace(
            back.first, changes=(), turn=0, a="", b=""
        )
    json.dumps(there.tree())
