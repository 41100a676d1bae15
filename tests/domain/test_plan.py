from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from tests.samples import ECHO, PING, PLAN, complaint, printed_under
from tests.strategies import plans
from toolreel.config import LoopConfig
from toolreel.errors import ConfigError
from toolreel.jsontext import Json, canonical
from toolreel.messages import AssistantMessage, SentCall, SystemMessage, ToolMessage, UserMessage
from toolreel.plan import Plan
from toolreel.request import RequestOptions
from toolreel.surface import ToolDefinition, ToolSurface

HI = (UserMessage("hi"),)
CALL = SentCall("a", "echo", "{}")
SPOKEN = replace(PLAN, messages=(SystemMessage("s"), AssistantMessage("", (CALL,)), ToolMessage("a", "{}")))


def deep(levels: int) -> Json:
    value: Json = 0
    for _ in range(levels):
        value = [value]
    return value


def test_everyday_values_make_a_plan() -> None:
    assert Plan.of(
        model="m",
        messages="hi",
        options={"temperature": 0},
        tools=[ECHO],
        config=LoopConfig(max_turns=2),
        seed=7,
    ) == Plan("m", HI, canonical({"temperature": 0}), ToolSurface((ECHO,)), LoopConfig(max_turns=2), 7)


def test_what_is_not_given_has_a_default() -> None:
    assert Plan.of(model="m", messages="hi") == Plan("m", HI)
    assert Plan("m", HI) == Plan("m", HI, canonical({}), ToolSurface(), LoopConfig(), 0)


def test_ready_values_are_taken_as_they_are() -> None:
    surface = ToolSurface((PING,))
    assert Plan.of(model="m", messages=iter(HI), tools=surface) == Plan("m", HI, tools=surface)


def test_tools_stand_before_the_options_of_a_body() -> None:
    plan = replace(PLAN, options=canonical({"temperature": 0}))
    expected = canonical({"tools": [ECHO.tree(), PING.tree()], "temperature": 0})
    assert plan.request_options == RequestOptions(expected)


def test_a_plan_without_tools_sends_no_tools() -> None:
    assert Plan("m", HI).request_options == RequestOptions(canonical({}))


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Plan("", HI), "model: expected the name of a model, got an empty text"),
        (lambda: Plan("m", ()), "messages: expected at least one message to begin with"),
        (lambda: Plan("m", HI, canonical([1])), "options: expected a JSON object, got [1]"),
        (
            lambda: Plan.of(model="m", messages="hi", options={"a": deep(128)}),
            "options: nested deeper than 128 levels",
        ),
        *(
            (
                lambda key=key: Plan("m", HI, canonical({key: None})),
                f"options: {key!r} is set by the run itself; give it to the plan instead",
            )
            for key in ("model", "messages", "tools", "stream")
        ),
        *(
            (make, r"a text holds the lone surrogate '\ud83d', which cannot be sent")
            for make in (
                lambda: Plan.of(model="\ud83d", messages="hi"),
                lambda: Plan.of(model="m", messages="hi \ud83d"),
                lambda: Plan.of(model="m", messages="hi", options={"user": "\ud83d"}),
                lambda: Plan.of(model="m", messages="hi", tools=[ToolDefinition("t", "\ud83d")]),
            )
        ),
    ],
)
def test_parts_that_make_no_run_are_refused(make: Callable[[], Plan], why: str) -> None:
    assert complaint(ConfigError, make) == why


def test_options_may_nest_up_to_the_cap() -> None:
    assert Plan("m", HI, canonical({"a": deep(127)})).options == canonical({"a": deep(127)})


CHANGES: list[tuple[Plan, Mapping[str, Any]]] = [
    (PLAN, {"model": "other"}),
    (PLAN, {"messages": (UserMessage("hello"),)}),
    (PLAN, {"messages": (SystemMessage("hi"),)}),
    (PLAN, {"messages": (*HI, *HI)}),
    (PLAN, {"options": canonical({"temperature": 0})}),
    (PLAN, {"tools": ToolSurface((PING, ECHO))}),
    (PLAN, {"tools": ToolSurface((replace(ECHO, name="say"), PING))}),
    (PLAN, {"tools": ToolSurface((replace(ECHO, description=""), PING))}),
    (PLAN, {"tools": ToolSurface((replace(ECHO, parameters=canonical({})), PING))}),
    (PLAN, {"config": LoopConfig(max_turns=3)}),
    (PLAN, {"config": LoopConfig(max_tool_args_bytes=3)}),
    (PLAN, {"config": LoopConfig(max_tool_output_bytes=3)}),
    (PLAN, {"config": LoopConfig(max_argument_depth=3)}),
    (PLAN, {"config": LoopConfig(text_dialects=("hermes_json",))}),
    (PLAN, {"seed": 1}),
    (SPOKEN, {"messages": (SPOKEN.messages[0], AssistantMessage("said", (CALL,)), SPOKEN.messages[2])}),
    *(
        (SPOKEN, {"messages": (SPOKEN.messages[0], AssistantMessage("", (call,)), SPOKEN.messages[2])})
        for call in (replace(CALL, id="b"), replace(CALL, name="ping"), replace(CALL, arguments="{ }"))
    ),
    (SPOKEN, {"messages": (*SPOKEN.messages[:2], ToolMessage("b", "{}"))}),
    (SPOKEN, {"messages": (*SPOKEN.messages[:2], ToolMessage("a", "[]"))}),
]


@pytest.mark.parametrize(("plan", "change"), CHANGES, ids=[str(index) for index in range(len(CHANGES))])
def test_the_digest_changes_with_every_single_part(plan: Plan, change: Mapping[str, Any]) -> None:
    assert replace(plan, **change).digest != plan.digest


def test_every_part_has_been_changed() -> None:
    assert {key for _, change in CHANGES for key in change} == {
        name for name in Plan.__dataclass_fields__ if name not in {"digest", "request_options"}
    }


@given(plans, plans)
def test_two_plans_share_a_digest_only_if_they_are_equal(one: Plan, other: Plan) -> None:
    assert (one.digest == other.digest) == (one == other)
    assert replace(one).digest == one.digest


def test_the_digest_is_the_same_in_every_process() -> None:
    program = "from tests.samples import PLAN; print(PLAN.digest)"
    assert {printed_under(seed, program) for seed in range(3)} == {PLAN.digest}


def test_the_digest_is_the_same_in_every_version_that_can_read_the_records() -> None:
    assert PLAN.digest == "23afafaeecaf06341da8b2ebf6e10efc2078194836ec4ec1f62f888477e83108"
