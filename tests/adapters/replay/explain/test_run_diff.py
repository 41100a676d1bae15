from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.adapters.driver.test_sync import add
from tests.adapters.replay.records import ADDING, NEEDS_APPROVAL, SUM, adding, asking_first, recorded
from tests.adapters.replay.test_trace import stopped
from tests.samples import PING
from toolreel._driver import Always
from toolreel._journal import Recorded, parse_journal
from toolreel._replay import Changes, Divergence, TurnPair, diff, fork
from toolreel.cassette import Change
from toolreel.testing import Lost, calling, saying
from toolreel_core._conversation import SystemMessage
from toolreel_core._jsontext import Json
from toolreel_core._plan import Plan
from toolreel_core._settings import Provider
from toolreel_core._tools import ToolSurface

Script = tuple[Mapping[str, Json], ...]
RUN = recorded()


def places(changes: tuple[Change, ...]) -> list[str]:
    return [change.place for change in changes]


def first(a: Recorded, b: Recorded) -> Divergence:
    found = diff(a, b).first
    assert found is not None
    return found


def told_differently(source: Recorded, **keys: Json) -> Recorded:
    """The same run, whose replies have other ids, times and counts in their bodies."""
    script: list[str] = []
    for event in source.events:
        tree = json.loads(getattr(event, "body", "null"))
        if tree:
            text = json.dumps({**tree, **keys}).replace("call_a", "call_x").replace("call_b", "call_y")
            script.append(text)
    return recorded(script, source.plan)


# The same run.


def test_ids_times_and_counts_make_no_other_run() -> None:
    other = told_differently(RUN, created=5, usage={"completion_tokens": 9}, id="chatcmpl-2")
    assert other.digest != RUN.digest
    assert diff(RUN, other).same


def test_ids_that_change_the_order_of_results_are_no_other_run_either() -> None:
    both = recorded([calling(("add", {"a": 1, "b": 1}), ("add", {"a": 2, "b": 2})), saying("2 and 4.")])
    assert diff(both, told_differently(both)).same


# Plans.


def ping() -> str:
    """Is anybody there?"""
    return "pong"


@pytest.mark.parametrize(
    ("plan", "place"),
    [
        (replace(ADDING, model="other"), "model"),
        (Changes(prompt="Add!").plan(ADDING), "messages[0].content"),
        (Changes(system="Add!").plan(ADDING), "messages[0].role"),
        (Changes(options={"temperature": 1}).plan(ADDING), "options.temperature"),
        (Changes(overrides={"top_k": 1}).plan(ADDING), "overrides.top_k"),
        (adding(max_turns=3), "config.max_turns"),
        (adding(text_dialects=["longcat_json"]), "config.text_dialects[0]"),
        (replace(ADDING, provider=Provider(id_style="kimi")), "provider.id_style"),
        (replace(ADDING, tools=ToolSurface((*ADDING.tools.definitions, PING))), "tools.ping"),
        (replace(ADDING, tools=ToolSurface(ADDING.tools.definitions, ("ping",))), "masked[0]"),
        (NEEDS_APPROVAL, "tools.add.needs_approval"),
        (replace(ADDING, seed=3), "seed"),
    ],
)
def test_plans_are_compared_key_by_key(plan: Plan, place: str) -> None:
    difference = diff(RUN, recorded(SUM, plan, tools=[add, ping], approver=Always()))
    assert places(difference.plan)[0] == place
    assert not difference.same


def test_what_follows_from_the_plans_alone_is_no_divergence() -> None:
    plan = Changes(model="other", prompt="Add!", options={"temperature": 1}).plan(ADDING)
    plan = replace(plan, messages=(SystemMessage("Be brief."), *plan.messages))
    difference = diff(RUN, recorded(SUM, plan))
    assert (difference.first, difference.same) == (None, False)


# Events.


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        (calling(("add", {"a": 3, "b": 40})), ["calls[0].arguments.a"]),
        (calling(("sum", {"a": 2, "b": 40})), ["calls[0].name"]),
        (calling(("add", {"a": 2, "b": 40}), ("add", {"a": 1, "b": 1})), ["calls[1]"]),
        (saying("Hm.", "length"), ["text", "calls[0]", "finish", "problem"]),
        (Lost("status", "HTTP 400: no", 400), ["event", "failure", "status", "message", "retry_after_ms"]),
    ],
)
def test_another_reply_is_told_by_text_calls_and_finish(
    line: Mapping[str, Json] | Lost, changed: list[str]
) -> None:
    found = first(RUN, recorded([line, *SUM[1:]]))
    assert (found.n, found.aspect) == (1, "told")
    assert set(changed) <= set(places(found.changes))


def test_a_call_that_cannot_be_read_is_compared_as_it_was_written() -> None:
    entry: Json = {"id": "a", "function": {"name": "add", "arguments": '{"a":'}}
    broken: Mapping[str, Json] = {"choices": [{"message": {"tool_calls": [entry]}}]}
    found = first(recorded([broken, saying("Oh.")]), recorded([SUM[0], saying("Oh.")]))
    assert "calls[0].unreadable" in places(found.changes)


LOST: list[Lost | Mapping[str, Json]] = [Lost("timeout", "ReadTimeout"), *SUM]
ASKING = recorded(SUM, NEEDS_APPROVAL, tools=asking_first(), approver=Always())


@pytest.mark.parametrize(
    ("one", "other", "place"),
    [
        (RUN, stopped("enough"), "wants"),
        (recorded(LOST), recorded(LOST, adding(retry_base_ms=10)), "ms"),
        (RUN, ASKING, "wants"),
    ],
)
def test_another_effect_is_something_else_that_is_wanted(one: Recorded, other: Recorded, place: str) -> None:
    found = first(one, other)
    assert (found.n, found.aspect, found.changes[0].place) == (2, "wanted", place)


def test_runs_that_were_stopped_differ_in_the_reason() -> None:
    assert first(stopped("enough"), stopped("late")).changes == (Change("reason", '"enough"', '"late"'),)


def test_the_time_at_which_something_came_makes_no_other_run() -> None:
    timed = recorded(SUM, adding(max_wall_ms=60_000))
    later = re.sub('"at_ms":[0-9]+', '"at_ms":5000', timed.text)
    assert diff(timed, parse_journal(later)).same


def test_one_of_the_runs_may_end_earlier() -> None:
    short = recorded(SUM, adding(max_turns=1))
    rests = recorded(SUM, NEEDS_APPROVAL, tools=asking_first())
    found = first(RUN, short)
    assert found == Divergence(
        3, 2, "end", (), 'reply: add({"a":42,"b":1})', "no event: the run has ended as max_turns"
    )
    assert first(short, RUN).a == "no event: the run has ended as max_turns"
    assert first(rests, RUN).a == "no event: the run rests"


# What came of it.


def test_the_turns_stand_side_by_side_with_calls_results_and_the_end() -> None:
    other = fork(RUN, 4, Changes(tool_result='{"ok":false,"errors":[{"code":"E","message":"no"}]}'))
    turns = diff(RUN, other.recorded).turns
    assert turns == (
        TurnPair(1, *[('→ add({"a":2,"b":40})', '← {"value":42}')] * 2),
        TurnPair(
            2,
            ('→ add({"a":42,"b":1})', '← {"value":43}'),
            ('→ add({"a":42,"b":1})', "✗ E: no"),
        ),
        TurnPair(3, *[("It is 43.",)] * 2),
    )
    assert [turn.same for turn in turns] == [True, False, True]


def test_a_run_with_fewer_turns_has_empty_places() -> None:
    turns = diff(RUN, recorded([saying("")], adding(fix_empty_final=False))).turns
    assert turns[0].b == ("empty_final: the model ended with neither text nor a call",)
    assert [turn.b for turn in turns[1:]] == [(), ()]
    rests = recorded(SUM, NEEDS_APPROVAL, tools=asking_first())
    assert diff(rests, rests).turns[0].a[0] == "add needs approval"


numbers = st.integers(0, 9)
scripts = st.lists(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=2), max_size=4)


def script(turns: list[list[tuple[int, int]]]) -> Script:
    calls = [
        calling(*(("add", {"a": a, "b": 10 * at + b}) for a, b in turn)) for at, turn in enumerate(turns, 1)
    ]
    return (*calls, saying("Done."))


@given(scripts, st.data())
def test_the_first_event_that_was_changed_is_the_one_that_is_found(
    turns: list[list[tuple[int, int]]], data: st.DataObject
) -> None:
    run = recorded(script(turns))
    results = [record.n for record in run.records if record.kind == "run_tool"]
    assume(results)
    n = data.draw(st.sampled_from(results))
    other = fork(
        run, n, Changes(tool_result=data.draw(st.sampled_from(["-1", '"no"', "no", '{"value":-1}'])))
    )
    difference = diff(run, other.recorded)
    assert difference.plan == ()
    assert difference.first is not None
    assert (difference.first.n, difference.first.aspect) == (n, "told")
    assert diff(other.recorded, run).first == replace(
        difference.first,
        a=difference.first.b,
        b=difference.first.a,
        changes=tuple(Change(change.place, change.new, change.old) for change in difference.first.changes),
    )
