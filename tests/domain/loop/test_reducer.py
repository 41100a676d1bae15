from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any, get_args

import pytest

from tests.playbook import (
    Playbook,
    asks,
    body_of,
    calling,
    denies,
    faults,
    finishes,
    of,
    replies,
    replies_calling,
    returns,
    runs,
    seeks_approval,
)
from toolreel_core._conversation import SystemMessage, ToolMessage, UserMessage
from toolreel_core._errors import ProtocolError
from toolreel_core._jsontext import Json, Tree, canonical
from toolreel_core._loop import fold, start, step, uncertain
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    ApprovalGiven,
    AwaitingApproval,
    AwaitingReply,
    AwaitingTools,
    BudgetSpent,
    Cancelled,
    CancelRequested,
    Event,
    Finish,
    Idle,
    Memory,
    OptionIgnored,
    Phase,
    PresetsApplied,
    QuirkApplied,
    ReplyReceived,
    RequestFailed,
    RequestSent,
    RunSettled,
    RunStarted,
    SendRequest,
    Settled,
    State,
    ToolReturned,
    TransformFailed,
    UserSpoke,
    WaitElapsed,
    Waiting,
    dump,
)
from toolreel_core._settings import LoopConfig, Provider, TransformKind, register_transform, transforms
from toolreel_core._tools import ToolDefinition, ToolFlags, ToolSurface, call_abandoned

ADD = ToolDefinition.of("add", parameters={"type": "object", "properties": {"a": {"type": "integer"}}})
PLAN = Plan.of(
    model="m", messages="hi", tools=[ADD, ToolDefinition.of("ping")], config=LoopConfig(max_turns=4)
)
GUARDED = replace(PLAN, tools=ToolSurface((replace(ADD, needs_approval=True), PLAN.tools.definitions[1])))
PARALLEL = replace(
    PLAN,
    tools=ToolSurface(tuple(replace(tool, read_only=True) for tool in PLAN.tools.definitions)),
    config=LoopConfig(parallel_tools=True),
)
A = ("call_a", "add", '{"a":1}')
PING = ("call_b", "ping", "{}")

REPLY = ReplyReceived(1, 200, canonical(body_of("Hello.")))
CALLS = ReplyReceived(1, 200, canonical(body_of(None, A, PING)))
FAILURE = RequestFailed(1, "timeout", "no luck")
RESULT = ToolReturned(2, "2")
GIVEN = ApprovalGiven(2, True)
ELAPSED = WaitElapsed(2)
CANCEL = CancelRequested("enough")
SPOKEN = UserSpoke("And now?")

IN_PHASE: dict[type[Phase], State] = {
    Idle: State.idle(PLAN),
    AwaitingReply: start(PLAN).state,
    Waiting: fold(PLAN, [FAILURE]).state,
    AwaitingTools: fold(PLAN, [CALLS]).state,
    AwaitingApproval: fold(GUARDED, [CALLS]).state,
    Settled: fold(PLAN, [REPLY]).state,
}


def test_before_the_first_request_it_is_said_what_it_was_made_of_and_what_is_left_out() -> None:
    plan = Plan.of(
        model="m",
        messages=[SystemMessage("Be brief."), UserMessage("Grüße")],
        options={"temperature": 2, "response_format": {"type": "text"}},
        tools=[ToolDefinition.of("ping")],
        overrides={"model": "other"},
        provider=Provider(temperature_rule="max1"),
        presets=["a", "b"],
    )
    asked = start(plan)
    (effect,) = asked.effects
    assert isinstance(effect, SendRequest)
    size = len('{"role":"system","content":"Be brief."}') + len('{"role":"user","content":"Grüße"}'.encode())
    assert asked.notes == (
        PresetsApplied(("a", "b")),
        OptionIgnored("model", "reserved"),
        OptionIgnored("response_format", "with_tools"),
        QuirkApplied(1, "temperature_rule"),
        RequestSent(1, 2, size, effect.request.digest),
    )


TAKEN: dict[type[Event], tuple[type[Phase], ...]] = {
    RunStarted: (Idle,),
    ReplyReceived: (AwaitingReply, Settled),
    RequestFailed: (AwaitingReply, Settled),
    WaitElapsed: (Waiting, Settled),
    ToolReturned: (AwaitingTools, Settled),
    ApprovalGiven: (AwaitingApproval, Settled),
    CancelRequested: tuple(IN_PHASE),
    UserSpoke: tuple(phase for phase in IN_PHASE if phase is not Idle),
}
EVENTS: tuple[Event, ...] = (RunStarted(), REPLY, FAILURE, ELAPSED, RESULT, GIVEN, CANCEL, SPOKEN)


def test_every_event_is_tried_here() -> None:
    assert {type(event) for event in EVENTS} == set(TAKEN) == set(get_args(Event))


@pytest.mark.parametrize(
    ("phase", "event"),
    [(phase, event) for event in EVENTS for phase in IN_PHASE if phase not in TAKEN[type(event)]],
)
def test_an_event_in_the_wrong_phase_is_the_callers_bug_and_names_both(
    phase: type[Phase], event: Event
) -> None:
    with pytest.raises(ProtocolError) as error:
        step(IN_PHASE[phase], event)
    assert f"phase {phase.__name__} cannot take {type(event).__name__};" in str(error.value)


@pytest.mark.parametrize(
    ("phase", "event", "waits"),
    [
        (AwaitingReply, ReplyReceived(2, 200, REPLY.body), 1),
        (AwaitingReply, RequestFailed(0, "timeout", "no luck"), 1),
        (Waiting, WaitElapsed(1), 2),
        (AwaitingTools, ToolReturned(1, "2"), 2),
        (AwaitingApproval, ApprovalGiven(3, True), 2),
    ],
)
def test_an_answer_with_another_ref_is_the_callers_bug_and_names_both(
    phase: type[Phase],
    event: ReplyReceived | RequestFailed | WaitElapsed | ToolReturned | ApprovalGiven,
    waits: int,
) -> None:
    with pytest.raises(ProtocolError) as error:
        step(IN_PHASE[phase], event)
    assert str(error.value) == (
        f"{type(event).__name__} answers ref {event.ref}, but {phase.__name__} waits for ref {waits}"
    )


def test_of_several_results_each_is_taken_once_in_any_order() -> None:
    both = fold(PARALLEL, [CALLS])
    with pytest.raises(ProtocolError, match=r"answers ref 4, but AwaitingTools waits for ref 2 or 3"):
        step(both.state, ToolReturned(4, "1"))
    second = step(both.state, ToolReturned(3, "1"))
    with pytest.raises(ProtocolError, match=r"answers ref 3, but AwaitingTools waits for ref 2$"):
        step(second.state, ToolReturned(3, "1"))
    assert isinstance(step(second.state, ToolReturned(2, "1")).state.phase, AwaitingReply)


def test_the_latest_time_that_an_answer_tells_is_kept() -> None:
    later = step(start(PLAN).state, replace(CALLS, at_ms=700)).state
    assert later.tally.at_ms == 700
    assert step(later, replace(RESULT, at_ms=600)).state.tally.at_ms == 700
    assert step(later, RESULT).state.tally.at_ms == 700


def test_a_run_that_was_never_started_can_be_cancelled() -> None:
    cancelled = step(State.idle(PLAN), CANCEL)
    assert cancelled.effects == (Finish(Cancelled("enough")),)
    assert cancelled.notes == (RunSettled("cancelled"),)
    assert list(cancelled.state.messages.messages) == [UserMessage("hi")]


@pytest.fixture(autouse=True)
def _transforms_that_break(monkeypatch: pytest.MonkeyPatch) -> None:
    """Transforms that fail, in a registry of each test's own, since others try all that there are."""
    monkeypatch.setattr(transforms, "_REGISTRY", deepcopy(vars(transforms)["_REGISTRY"]))
    kinds: tuple[TransformKind, ...] = ("message", "response", "tool_result")
    for kind in kinds:
        register_transform(kind, "breaks_in_runs", about="Fails on what it does not expect.")(
            lambda tree: {"role": tree["no such key"]}
        )
    register_transform("message", "breaks_at_results", about="Fails on what a tool returned.")(
        lambda tree: {**tree, "content": tree["content" if tree["role"] != "tool" else "no such key"]}
    )


BROKEN = TransformFailed(
    "the {} transform 'breaks_in_runs' failed with KeyError: 'no such key'; it has to take any tree"
)


def broken(kind: TransformKind) -> TransformFailed:
    return TransformFailed(BROKEN.message.format(kind))


def breaking(kind: TransformKind, plan: Plan = PLAN) -> Playbook:
    config = LoopConfig.of({**plan.config.changes(), f"{kind}_transforms": ["breaks_in_runs"]})
    return Playbook(replace(plan, config=config))


def test_a_transform_that_fails_ends_the_run_by_its_name() -> None:
    breaking("response").play(asks(), replies("Hello."), finishes(broken("response")))


def test_a_transform_that_fails_on_the_plans_own_messages_ends_the_run_before_it_begins() -> None:
    plan = replace(PLAN, config=LoopConfig(max_turns=4, message_transforms=("breaks_in_runs",)))
    began = start(plan)
    assert began.effects == (Finish(broken("message")),)
    assert began.notes == (RunSettled("transform_failed"),)
    assert list(began.state.messages.messages) == []


def test_a_transform_of_messages_that_fails_on_results_ends_the_run_with_its_calls() -> None:
    fussy = replace(PLAN, config=LoopConfig(max_turns=4, message_transforms=("breaks_at_results",)))
    played = Playbook(fussy).play(
        asks(),
        replies_calling(PING),
        runs("call_b", "ping", {}),
        returns("pong"),
        finishes(
            TransformFailed(BROKEN.message.replace("breaks_in_runs", "breaks_at_results").format("message"))
        ),
    )
    assert played.state.messages.messages[-1] == calling(PING)


def test_a_transform_of_results_that_fails_leaves_an_answer_to_every_call() -> None:
    played = breaking("tool_result", PARALLEL).play(
        asks(),
        replies_calling(A, PING),
        runs("call_a", "add", {"a": 1}),
        runs("call_b", "ping", {}),
        of("call_b", returns("pong")),
        of("call_a", returns(1)),
        finishes(broken("tool_result")),
    )
    assert [type(message) for message in played.state.messages.messages][2:] == [ToolMessage] * 2
    denied = breaking("tool_result", GUARDED).play(
        asks(),
        replies_calling(A, PING),
        seeks_approval("call_a", "add", {"a": 1}),
        denies(),
        finishes(broken("tool_result")),
    )
    assert list(denied.state.messages.messages)[2:] == [
        faults("call_a", "add", call_abandoned("add")),
        faults("call_b", "ping", call_abandoned("ping")),
    ]


PING_resume = ToolDefinition("ping", read_only=True)
WIPE = ToolDefinition("wipe", needs_approval=True)
PLAN_resume = Plan.of(
    model="m", messages="hi", tools=[PING_resume, WIPE], config=LoopConfig(parallel_tools=True)
)
A_PING = ("call_a", "ping", "{}")


@pytest.mark.parametrize(
    ("flags", "known"), [({}, False), ({"read_only": True}, True), ({"idempotent": True}, True)]
)
def test_a_call_under_way_may_have_had_effects_unless_its_tool_says_it_does_no_harm(
    flags: ToolFlags, known: bool
) -> None:
    tools = [ToolDefinition.of("ping", **flags), WIPE]
    at = fold(replace(PLAN_resume, tools=ToolSurface(tuple(tools))), [ReplyReceived(1, 200, ONE)])
    assert uncertain(at.state) == (() if known else at.effects)


ONE = canonical(body_of(None, A_PING))


# Conversations: the user speaks after the end of a run, and while one is underway.


WIPING = Plan.of(
    model="m",
    messages="hi",
    tools=[ToolDefinition("ping"), ToolDefinition("wipe", needs_approval=True)],
)
PINGS_ONCE = ("call_a", "ping", "{}")
NOW = UserSpoke("And now?")
THEN = UserSpoke("And then?")
SAID = (UserMessage("And now?"), UserMessage("And then?"))


def plan(**settings: Any) -> Plan:  # noqa: ANN401 - any setting of LoopConfig
    return replace(WIPING, config=LoopConfig.of(settings))


def said(content: str, ref: int = 1, usage: Json = None) -> ReplyReceived:
    return ReplyReceived(ref, 200, canonical(body_of(content) | {"usage": usage}))


def called(ref: int, *calls: tuple[str, str, str]) -> ReplyReceived:
    return ReplyReceived(ref, 200, canonical(body_of(None, *calls)))


def test_a_message_just_before_the_answer_does_what_one_just_after_it_does() -> None:
    before, after = fold(WIPING, [NOW, said("Hello.")]), fold(WIPING, [said("Hello."), NOW])
    assert before == replace(after, notes=before.notes)
    assert before.notes[-3:] == after.notes
    assert dump(before.state) == dump(after.state)


def test_the_memory_of_the_policies_begins_anew_but_for_what_the_server_taught() -> None:
    ended = fold(WIPING, [said("Hello.")]).state
    learned = Memory(
        nudges=1,
        finalizing=True,
        tools_dropped=True,
        successes=2,
        called=("ping",),
        last_ok=Memory().last_ok.set("ping", True),
        upstream="Google",
        corrections=1,
        asked_again=True,
    )
    memory = step(replace(ended, memory=learned), NOW).state.memory
    assert memory == Memory(tools_dropped=True, upstream="Google")


def test_the_time_of_an_exchange_begins_when_the_user_speaks() -> None:
    limited = plan(max_wall_ms=100)
    first = fold(limited, [replace(said("Hello."), at_ms=90)])
    spoke = step(first.state, replace(NOW, at_ms=500)).state
    assert spoke.exchange_began.at_ms == 500
    ran = step(step(spoke, replace(called(2, PINGS_ONCE), at_ms=540)).state, ToolReturned(3, "1", at_ms=601))
    assert ran.effects == (Finish(BudgetSpent("time", 101, 100)),)


def test_a_run_that_was_cancelled_before_its_first_request_begins_with_the_message() -> None:
    odd = replace(WIPING, options=canonical({"temperature": 2}), provider=Provider(temperature_rule="drop"))
    ignored = [note for note in start(odd).notes if isinstance(note, OptionIgnored)]
    begun = step(step(State.idle(odd), CancelRequested()).state, NOW)
    (sent,) = begun.effects
    assert isinstance(sent, SendRequest)
    assert [*sent.request.messages.messages] == [UserMessage("hi"), SAID[0]]
    assert [note for note in begun.notes if isinstance(note, OptionIgnored)] == ignored


def test_a_transform_that_failed_is_tried_again_and_no_message_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transforms, "_REGISTRY", deepcopy(vars(transforms)["_REGISTRY"]))
    failing = [True]

    @register_transform("message", "fails_at_times", about="Fails until it is mended.")
    def fails_at_times(tree: Tree) -> Tree:
        if failing:
            raise KeyError("not mended yet")
        return tree

    odd = plan(message_transforms=["fails_at_times"])
    failed = start(odd)
    assert isinstance(failed.state.phase, Settled)
    again = step(failed.state, NOW)
    assert isinstance(again.state.phase, Settled)
    assert isinstance(again.state.phase.outcome, TransformFailed)
    failing.clear()
    (sent,) = step(again.state, THEN).effects
    assert isinstance(sent, SendRequest)
    assert [*sent.request.messages.messages] == [UserMessage("hi"), *SAID]


def test_times_of_messages_count_while_a_run_is_underway() -> None:
    assert fold(WIPING, [replace(NOW, at_ms=70)]).state.tally.at_ms == 70
