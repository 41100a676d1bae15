from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, cast

import pytest
from hypothesis import given

from tests.samples import ECHO, PING, PLAN, complaint, worked
from tests.strategies import plans
from toolreel_core._conversation import (
    AssistantMessage,
    Form,
    Image,
    SentCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
    user_message,
)
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, canonical
from toolreel_core._plan import FallbackPlan, OutputSpec, Plan
from toolreel_core._protocol import dump, load_plan
from toolreel_core._settings import LoopConfig, Price, Provider
from toolreel_core._tools import ToolDefinition, ToolSurface

HI = (UserMessage("hi"),)
CALL = SentCall("a", "echo", "{}")
SPOKEN = replace(PLAN, messages=(SystemMessage("s"), AssistantMessage("", (CALL,)), ToolMessage("a", "{}")))


class Host:
    """Something that runs tools."""

    surface = ToolSurface()


def deep(levels: int) -> Json:
    value: Json = 0
    for _ in range(levels):
        value = [value]
    return value


ONE_CALL: dict[str, Json] = {"parallel_tool_calls": False}


@pytest.mark.parametrize(
    ("settings", "calls"),
    [
        ({"options": {}, "overrides": ONE_CALL}, 1),
        ({"overrides": {"parallel_tool_calls": True}}, None),
        ({"provider": Provider(supports_parallel_tool_calls="no")}, None),
        ({"provider": Provider(wire_form="messages")}, 1),
        ({"provider": Provider(wire_form="responses")}, 1),
        ({"config": LoopConfig(tool_use_mode="disabled")}, None),
    ],
)
def test_the_request_as_it_goes_out_decides_how_many_calls_run(
    settings: dict[str, Any], calls: int | None
) -> None:
    plan = Plan.of(**{"model": "m", "messages": "hi", "tools": [PING], "options": ONE_CALL, **settings})
    assert plan.calls_per_turn == calls


BLANK_TO_NULL = "assistant_tool_calls_content_null_if_blank"


def test_messages_are_written_for_the_provider_and_estimated_only_where_there_is_a_window() -> None:
    kimi = Provider(id_style="kimi")
    assert PLAN.form == Form()
    assert replace(PLAN, provider=kimi).form == Form(kimi)
    config = LoopConfig(context_window_tokens=9, message_transforms=(BLANK_TO_NULL,))
    assert replace(PLAN, config=config).form == Form(Provider(), (BLANK_TO_NULL,), "bytes_per_4")


ENFORCED = LoopConfig(tool_use_mode="enforced")


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        *worked("parts that make no run are refused", "runs-and-plans"),
        ({"tools": Host()}, "tools: expected the surface of a tool host, got Host; write tools=host.surface"),
        ({"options": {"a": deep(128)}}, "options: nested deeper than 128 levels"),
        ({"overrides": {"a": float("nan")}}, "overrides.a: nan is not JSON; use a finite number"),
        (
            {"options": {"a": {1}}},
            "options.a: a set is not JSON; use None, a bool, a number, a str, a list or a dict",
        ),
        (
            {"config": ENFORCED},
            "tool_use_mode: an enforced run has to call a tool, and there is none; "
            "give it tools, or relax the mode",
        ),
        (
            {"config": LoopConfig(history_policies=("keep_newest_turn",))},
            "history_policies: there is no history policy 'keep_newest_turn'; "
            "did you mean 'keep_newest_turns'?",
        ),
        ({"messages": ["hi", UserMessage(" ")]}, "messages: the prompt is empty; write what the user says"),
    ],
)
def test_parts_that_make_no_run_are_refused(parts: dict[str, Any], why: str) -> None:
    given = {"model": "m", "messages": "hi", **parts}
    assert complaint(ConfigError, lambda: Plan.of(**given)) == why


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Plan("m", ()), "messages: expected at least one message to begin with"),
        (
            lambda: Plan("m", cast("Any", "hi")),
            "messages: Plan(...) takes it only in its final form; write Plan.of(...)",
        ),
        (lambda: Plan("m", HI, canonical([1])), "options: expected a JSON object, got [1]"),
        (lambda: Plan("m", HI, overrides=canonical("x")), 'overrides: expected a JSON object, got "x"'),
    ],
)
def test_a_plan_takes_parts_only_in_their_final_form(make: Callable[[], Plan], why: str) -> None:
    assert complaint(ConfigError, make) == why


LIMITED = replace(PLAN, config=LoopConfig(max_cost=1))
CHANGES: list[tuple[Plan, Mapping[str, Any]]] = [
    (PLAN, {"fallbacks": (FallbackPlan("spare", "other"),)}),
    (PLAN, {"model": "other"}),
    (PLAN, {"messages": (UserMessage("hello"),)}),
    (PLAN, {"options": canonical({"temperature": 0})}),
    (PLAN, {"tools": ToolSurface((PING, ECHO))}),
    *(
        (PLAN, {"tools": ToolSurface((ECHO, tool))})
        for tool in (
            replace(PING, read_only=True),
            replace(PING, polling=True),
            replace(PING, needs_approval=True),
        )
    ),
    (PLAN, {"config": LoopConfig(max_turns=3)}),
    (PLAN, {"seed": 1}),
    (PLAN, {"provider": Provider(supports_tools="yes")}),
    (PLAN, {"output": OutputSpec.of({"type": "object"})}),
    (
        replace(PLAN, output=OutputSpec.of({"type": "object"})),
        {"output": OutputSpec.of({"type": "object", "title": "x"})},
    ),
    (replace(PLAN, output=OutputSpec.of({})), {"output": OutputSpec.of({}, name="other")}),
    (replace(PLAN, output=OutputSpec.of({})), {"output": OutputSpec.of({}, description="other")}),
    (replace(LIMITED, price=Price(2, 8)), {"price": Price(2, 8, cached_input=1)}),
    (PLAN, {"overrides": canonical({"temperature": 0})}),
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
    parts = {item.name for item in fields(Plan) if item.init}
    assert {key for _, change in CHANGES for key in change} == parts - {"presets"}


def test_a_price_without_a_limit_decides_nothing_so_that_a_new_list_makes_no_recording_stale() -> None:
    assert replace(PLAN, price=Price(2, 8)).digest == PLAN.digest
    assert replace(PLAN, price=Price(2, 8)) != PLAN
    dated = Price(2, 8, as_of="2026-11-22", source="https://a.example")
    assert replace(LIMITED, price=dated).digest == replace(LIMITED, price=Price(2, 8)).digest


@pytest.mark.parametrize("limit", ["max_cost", "max_conversation_cost"])
def test_a_limit_of_costs_that_nobody_can_know_is_refused(limit: str) -> None:
    silent = Provider(reports_cost="no")
    limited = LoopConfig.of({limit: 1})
    said = complaint(ConfigError, lambda: replace(PLAN, config=limited, provider=silent))
    assert said == (
        f"{limit}: the price of 'm' is unknown; write price=Price(input=..., output=...) per million tokens, "
        'reports_cost="yes" if the provider reports costs, or unknown_cost="allow" to run regardless'
    )
    assert replace(PLAN, config=limited, provider=silent, price=Price(2, 8)).price == Price(2, 8)
    allowed = replace(limited, unknown_cost="allow")
    assert not replace(PLAN, config=allowed, provider=silent).cost_is_unknown
    assert replace(PLAN, config=limited).cost_is_unknown


@given(plans, plans)
def test_two_plans_share_a_digest_only_if_they_are_equal(one: Plan, other: Plan) -> None:
    assert (one.digest == other.digest) == (one == other)
    assert replace(one).digest == one.digest


def test_the_digest_is_the_same_in_every_release_that_reads_the_records() -> None:
    assert PLAN.digest == "93fe62d3d55cdcda1c8d2fb26b8eac57f418de2d6df30b7de51621137fbcc71d"


NAMED = ToolDefinition.of("files.read")
HIDDEN = ToolDefinition.of("hidden", "x" * 100, exposed=False)


@pytest.mark.parametrize("more", [0, 1])
def test_tools_may_fill_the_limits(more: int) -> None:
    surface = ToolSurface((ToolDefinition("t", "é"), HIDDEN))
    config = LoopConfig(max_tool_definitions_count=1 + more, max_tool_definitions_bytes=surface.size + more)
    assert Plan.of(model="m", messages="hi", tools=surface, config=config).tools is surface


def test_tools_over_a_limit_make_no_plan() -> None:
    for key in ("max_tool_definitions_count", "max_tool_definitions_bytes"):
        with pytest.raises(ConfigError, match=f"^{key}: "):
            Plan.of(model="m", messages="hi", tools=[ECHO, PING], config=LoopConfig.of({key: 1}))


def test_what_is_said_of_tools_is_stored_only_where_it_differs() -> None:
    told = Plan.of(
        model="m",
        messages="hi",
        tools=ToolSurface((replace(NAMED, deadline_ms=9, source="disk"), HIDDEN), ("files.delete",)),
        config=LoopConfig(null_for_optional_is_absent=True),
    )
    loaded = load_plan(dump(told))
    assert (loaded, loaded.digest) == (told, told.digest)
    assert [tool.source for tool in loaded.tools.definitions] == ["disk", ""]
    for key in ("exposed", "deadline_ms", "source", "masked", "null_for_optional_is_absent"):
        assert f'"{key}":' in dump(told)
        assert f'"{key}":' not in dump(PLAN)


CAT = user_message(["A cat?", Image.from_url("https://example.org/cat.png")])


def test_a_part_that_the_provider_does_not_take_is_refused() -> None:
    why = complaint(ConfigError, lambda: Plan("m", (CAT,), provider=Provider(name="x", supports_images="no")))
    assert why.startswith(
        "messages[0]: [image, https://example.org/cat.png]: x takes no images; leave it out"
    )
    result = ToolMessage("a", "{}", parts=(Image.from_url("https://example.org/cat.png"),))
    assert Plan("m", (result,), provider=Provider(supports_images="no")).messages == (result,)


def test_what_a_provider_takes_of_parts_counts_in_the_digest_where_there_are_parts() -> None:
    known = Provider(name="x", images_in_tool_results="yes")
    without = Provider(name="x")
    text = (UserMessage("hi"),)
    assert Plan("m", text, provider=known).digest == Plan("m", text, provider=without).digest
    assert Plan("m", (CAT,), provider=known).digest != Plan("m", (CAT,), provider=without).digest
    assert Plan("m", (CAT,)).digest != Plan("m", (UserMessage("A cat?"),)).digest
