from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import anyio
import pytest

from tests.adapters.driver.immediate import ImmediatePerformer
from tests.adapters.replay.records import ADDING, NEEDS_APPROVAL, SUM, add, adding, asking_first, recorded
from tests.adapters.replay.test_trace import stopped
from tests.samples import PING, complaint
from toolreel._driver import Always, Ports, ago_on
from toolreel._replay import Changes, Stop, fork, fork_without_continuing
from toolreel.testing import ScriptedEndpoint, ScriptedTools, calling, saying
from toolreel.tools import PythonTools, Tool
from toolreel_core._conversation import AssistantMessage, SystemMessage, UserMessage
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import Json
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    AwaitingApproval,
    Cancelled,
    Completed,
    MaxTurns,
    RunTool,
    ToolReturned,
)
from toolreel_core._settings import Provider
from toolreel_core._tools import ToolSurface

RUN = recorded()
TWO_CALLS = (calling(("add", {"a": 1, "b": 1}), ("add", {"a": 2, "b": 2})), saying("2 and 4."))


def scripted(*script: Mapping[str, Json], outputs: tuple[int, ...] = ()) -> tuple[ScriptedEndpoint, Ports]:
    endpoint = ScriptedEndpoint(script)
    return endpoint, Ports(endpoint, ScriptedTools({"add": outputs}))


# What is kept, and what is new.


def test_a_limit_can_be_raised_where_it_ended_the_run() -> None:
    short = recorded(SUM[:2], adding(max_turns=2))
    assert fork(short, 4).outcome == MaxTurns(2)
    _, ports = scripted(saying("It is 43."))
    assert fork(short, 4, Changes(config={"max_turns": 3}), performer=ports).outcome == Completed("It is 43.")


def test_a_run_can_be_forked_between_two_calls_of_a_reply() -> None:
    plan = replace(adding(parallel_tools=True), tools=PythonTools([reading()]).surface)
    source = recorded(TWO_CALLS, plan, tools=[reading()])
    endpoint, ports = scripted(saying("2 and 5."), outputs=(5,))
    forked = fork(source, 2, performer=ports)
    assert [event.output for event in forked.recorded.events if isinstance(event, ToolReturned)] == ["2", "5"]
    assert len(endpoint.asked[0].request.messages.texts) == 4


def reading() -> Tool:
    return Tool.of(add, read_only=True)


def test_a_run_that_rests_goes_on_once_somebody_approves() -> None:
    resting = recorded(SUM[1:], NEEDS_APPROVAL, tools=asking_first())
    stopped_at = fork(resting, 1)
    assert stopped_at.outcome is None
    assert isinstance(stopped_at.run.state.phase, AwaitingApproval)
    assert stopped_at.stop == Stop(
        2,
        "the record has no event 2; the run is in phase AwaitingApproval and wants approval of "
        'add({"a":42,"b":1})',
    )
    approving = Ports(ScriptedEndpoint([saying("43.")]), PythonTools([add]), Always())
    assert fork(resting, 1, performer=approving).outcome == Completed("43.")
    assert fork(resting, 1, performer=scripted()[1]).stop is None


def test_a_run_that_was_stopped_goes_on_from_before_that() -> None:
    source = stopped("enough", ToolReturned(2, "42"))
    assert fork(source, 3).outcome == fork(source, 0).outcome == Cancelled("enough")
    assert fork(source, 3).recorded.text == fork(source, 1).recorded.text == source.text
    _, ports = scripted(saying("It is 42."), outputs=(42,))
    assert fork(source, 1, performer=ports).outcome == Completed("It is 42.")


# A fork is a record like any other.


@pytest.mark.parametrize("runtime", ["asyncio", "trio"])
def test_any_driver_can_go_on_from_the_beginning_of_a_fork(runtime: str) -> None:
    begun = fork_without_continuing(RUN, 4)
    assert begun.kept == 4
    _, ports = scripted(saying("Enough."))
    ended = anyio.run(ago_on, begun.run.state, ImmediatePerformer(ports), backend=runtime)
    assert ended.outcome == Completed("Enough.")


def test_calls_of_a_fork_have_the_recorded_keys_unless_it_has_another_seed() -> None:
    def key(changes: Changes) -> str:
        (effect,) = [effect for effect, _ in fork(RUN, 0, changes).answered if isinstance(effect, RunTool)][
            :1
        ]
        return effect.key

    assert key(Changes()) == key(Changes(tool_result=None)) != key(Changes(seed=1))


# Where a run cannot be forked.


def test_kept_events_that_do_not_fit_the_changed_plan_are_named_with_the_phase() -> None:
    said = complaint(ReplayMismatch, lambda: fork(RUN, 4, Changes(config={"max_turns": 1})))
    assert said == (
        "here, event 3: it does not fit the changed run: the run is in phase Settled after event 2, as "
        'max_turns. Fork at 2 or before. The event: reply: add({"a":42,"b":1})'
    )
    said = complaint(ReplayMismatch, lambda: fork(RUN, 2, Changes(tools=NEEDS_APPROVAL.tools)))
    assert said.startswith(
        'here, event 2: it does not fit the changed run: the record answers add({"a":2,"b":40}); the run is '
        'in phase AwaitingApproval and wants approval of add({"a":2,"b":40}). Fork at 1 or before.'
    )


def test_results_go_to_the_calls_that_they_were_given_to_wherever_those_stand_now() -> None:
    both = calling(("add", {"a": 1, "b": 1}), ("add", {"a": 2, "b": 2}))
    source = recorded([both, saying("2 and 4.")])
    reading = PythonTools([Tool.of(add, read_only=True)]).surface
    told = fork(source, 0, Changes(tools=reading, config={"parallel_tools": True}))
    back = fork(told.recorded, 0, Changes(tools=ADDING.tools, config={"parallel_tools": False}))
    for each in (told, back):
        assert (each.outcome, len(each.answered)) == (Completed("2 and 4."), 4)
        results = (event for event in each.recorded.events if isinstance(event, ToolReturned))
        assert [event.output for event in results] == ["2", "4"]


WAS = Plan.of(
    model="m",
    messages=[SystemMessage("Be brief."), UserMessage("hi"), AssistantMessage("Hello."), UserMessage("Who?")],
    options={"temperature": 0, "parallel_tool_calls": True},
    config=adding(max_turns=3, text_dialects=["hermes_json"], max_tool_calls=9).config,
    provider=Provider(id_style="kimi"),
    overrides={"provider": {"order": ["a"]}},
    presets=("mine",),
    seed=4,
)


def test_each_part_changes_alone() -> None:
    for changes, part in (
        (Changes(model="other"), "model"),
        (Changes(prompt="What?"), "messages"),
        (Changes(config={"max_turns": 9}), "config"),
        (Changes(provider={"id_style": "keep"}), "provider"),
        (Changes(options={"temperature": 1}), "options"),
        (Changes(overrides={"top_k": 3}), "overrides"),
        (Changes(tools=ToolSurface((PING,))), "tools"),
        (Changes(seed=0), "seed"),
    ):
        now = changes.plan(WAS)
        parts = ("model", "messages", "config", "provider", "options", "overrides", "tools", "seed")
        assert [name for name in parts if getattr(now, name) != getattr(WAS, name)] == [part]


def test_the_prompt_is_the_last_user_message_and_the_system_message_the_first() -> None:
    now = Changes(prompt="What?", system="Be loud.").plan(WAS)
    assert now.messages == (SystemMessage("Be loud."), *WAS.messages[1:3], UserMessage("What?"))
    assert Changes(system="Be loud.").plan(ADDING).messages == (SystemMessage("Be loud."), *ADDING.messages)
