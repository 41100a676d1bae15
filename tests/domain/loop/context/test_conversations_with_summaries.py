"""Conversations that outgrow the window, and are summarised by the model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.playbook import (
    Playbook,
    Turn,
    asks,
    asks_for_summary,
    body_of,
    calling,
    elapses,
    fails_to_send,
    finishes,
    replies,
    replies_calling,
    replies_with,
    returns,
    runs,
    tells,
    waits,
)
from tests.samples import worked
from toolreel_core._conversation import (
    AssistantMessage,
    Message,
    SystemMessage,
    UserMessage,
    is_summary,
    summary_message,
)
from toolreel_core._jsontext import JsonText, Tree, canonical, parse
from toolreel_core._loop import backoff_ms, fold, pending, start, step
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    AwaitingReply,
    BudgetSpent,
    Cancelled,
    CancelRequested,
    Completed,
    ContextOverflow,
    HistoryShortened,
    HistorySummarized,
    Note,
    Outcome,
    RepairApplied,
    ReplyReceived,
    RequestAbandoned,
    RequestLost,
    RequestSent,
    RetryPlanned,
    SendRequest,
    Settled,
    Step,
    SummaryRejected,
    SummaryRequested,
    UserSpoke,
    Waiting,
    dump,
    load_effect,
    load_state,
)
from toolreel_core._settings import LoopConfig, Provider, WireForm
from toolreel_core._tools import ToolDefinition

SUMMARIZE, NEWEST = "summarize_old_turns", "keep_newest_turns"
HI = UserMessage("hi")
QUESTIONS = [UserMessage(f"Question {number}?") for number in range(1, 13)]
ANSWERS = [AssistantMessage(f"{number} " + "a" * 1_340) for number in range(1, 13)]
LONG = (HI, *(one for pair in zip(ANSWERS, QUESTIONS, strict=True) for one in pair))
"""A conversation of some 4,300 tokens, with the last question still open."""
NEW = LONG[14:]
"""What takes less than half of the window."""
PING = ToolDefinition("ping")
ANY: Tree = {"type": "object"}


def quoted(*messages: Message) -> tuple[tuple[str, str], ...]:
    """The passages of questions and answers."""
    passages: list[tuple[str, str]] = []
    for message in messages:
        assert isinstance(message, UserMessage | AssistantMessage)
        passages.append(("User:" if isinstance(message, UserMessage) else "Assistant:", message.content))
    return tuple(passages)


ASKS = asks_for_summary(*quoted(*LONG[1:14]))
TEXT = "They counted to 3."
SUMMARY = summary_message(TEXT)
SUMMED = asks(kept=(HI, SUMMARY, *NEW))
DONE: tuple[Turn, ...] = (replies("Done."), finishes(Completed("Done.")))


def plan(
    *policies: str,
    messages: Sequence[Message] = LONG,
    window: int = 4_000,
    provider: Provider | None = None,
    options: Tree | None = None,
    tools: Sequence[ToolDefinition] = (),
    **settings: Any,  # noqa: ANN401 - any setting of LoopConfig
) -> Plan:
    config = LoopConfig.of(
        {"context_window_tokens": window, "history_policies": policies or (SUMMARIZE,), **settings}
    )
    return Plan.of(
        model="m", messages=messages, config=config, provider=provider, options=options, tools=tools
    )


def request_in(at: Step) -> SendRequest:
    (effect,) = at.effects
    assert isinstance(effect, SendRequest)
    return effect


def says(content: str, ref: int = 1, **fields: Any) -> ReplyReceived:  # noqa: ANN401 - any JSON
    return ReplyReceived(ref, 200, canonical(body_of(content) | fields))


def rejected(notes: Sequence[Note]) -> list[str]:
    return [note.why for note in notes if isinstance(note, SummaryRejected)]


def outcome(at: Step) -> Outcome:
    assert isinstance(at.state.phase, Settled)
    return at.state.phase.outcome


def test_a_conversation_that_outgrows_its_window_is_summarised_first() -> None:
    played = Playbook(plan()).play(ASKS, replies(f" {TEXT}\n"), SUMMED, *DONE)
    assert tuple(played.state.messages.messages) == (*LONG, AssistantMessage("Done."))
    assert played.state.tally.turns == 1
    asked, summed, sent = (
        note for note in played.notes if isinstance(note, SummaryRequested | HistorySummarized | RequestSent)
    )
    first = request_in(start(plan()))
    size = first.request.messages.texts.size
    assert asked == SummaryRequested(1, 13, size, first.request.digest)
    assert isinstance(summed, HistorySummarized)
    assert summed == HistorySummarized(1, 25, 13, summed.tokens_before, summed.tokens_after, 0, 0, TEXT)
    assert summed.tokens_before > 4_000
    assert summed.tokens_after < 2_000
    assert isinstance(sent, RequestSent)
    assert (sent.turn, sent.messages) == (1, 13)


def test_a_summary_is_asked_for_without_tools_and_without_the_form_of_an_answer() -> None:
    options: Tree = {
        "temperature": 0.5,
        "stop": ["end"],
        "response_format": {"type": "json_object"},
        "tool_choice": "auto",
        "max_tokens": 20,
    }
    asked = start(plan(options=options, tools=[PING], stream="always"))
    effect = request_in(asked)
    assert (effect.purpose, effect.request.streamed) == ("summary", False)
    body = parse(JsonText(effect.request.body))
    assert isinstance(body, dict)
    messages = body.pop("messages")
    assert body == {"model": "m", "temperature": 0.5, "max_tokens": 1_000}
    assert messages == [json.loads(text) for text in effect.request.messages.texts]
    assert [type(message) for message in effect.request.messages.messages] == [UserMessage]
    assert load_effect(dump(effect)) == effect


@pytest.mark.parametrize(
    ("form", "own", "left"),
    worked("nor with the form of an answer in the words of another form", "runs-and-plans"),
)
def test_nor_with_the_form_of_an_answer_in_the_words_of_another_form(
    form: WireForm, own: Tree, left: Tree
) -> None:
    options: Tree = {
        "temperature": 0.5,
        "stop": ["end"],
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": ANY}},
        "max_tokens": 100,
        **own,
    }
    asked = start(plan(options=options, provider=Provider(wire_form=form), tools=[PING]))
    unstored: Tree = {"store": False} if form == "responses" else {}
    assert parse(request_in(asked).request.options.text) == {**unstored, **left, "temperature": 0.5}


def test_an_earlier_summary_is_summarised_again() -> None:
    again = summary_message("They counted to 13.")
    more = [AssistantMessage(f"{number} " + "b" * 2_860) for number in range(13, 16)]
    said = [UserMessage(f"Question {number}?") for number in range(13, 16)]
    old = (("Earlier summary:", TEXT), *quoted(*NEW, more[0]))
    script: list[Turn] = [ASKS, replies(TEXT), SUMMED]
    for answer, question in zip(more, said, strict=True):
        script += [replies(answer.content), finishes(Completed(answer.content))]
        script += [UserSpoke(question.content), asks(answer, question)]
    kept = (HI, again, said[0], more[1], said[1], more[2], said[2])
    summed = asks(more[2], said[2], kept=kept)
    played = Playbook(plan()).play(
        *script[:-1], asks_for_summary(*old), replies("They counted to 13."), summed, *DONE
    )
    assert sum(map(is_summary, played.state.messages.outgoing)) == 1
    assert not any(map(is_summary, played.state.messages.messages))


def test_old_turns_of_tools_are_quoted_with_their_calls_and_results() -> None:
    rules, count = SystemMessage("Be brief."), 7
    calls = [(f"call_{number}", "ping", "{}") for number in range(count)]
    gives = "r" * 2_300
    turns = [(calling(call), tells(call[0], "ping", {"value": gives})) for call in calls]
    script: list[Turn] = [asks()]
    for call, turn in zip(calls, turns, strict=True):
        script += [replies_calling(call), runs(call[0], "ping", {}), returns(gives), asks(*turn)]
    old: list[tuple[str, str]] = []
    for _, result in turns[:4]:
        old += [("Assistant calls ping:", "{}"), ("Result of ping:", result.content)]
    summary = summary_message("Pinged 4 times.")
    kept = (rules, HI, summary, *(message for turn in turns[4:] for message in turn))
    asked = plan(messages=[rules, HI], tools=[PING], repetition_stop=None, repetition_warn=None)
    played = Playbook(asked).play(
        *(*script[:-1], asks_for_summary(*old), replies("Pinged 4 times.")),
        *(asks(*turns[-1], kept=kept), *DONE),
    )
    assert (played.state.tally.turns, played.state.tally.tool_calls) == (count + 1, count)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (replies(""), "EMPTY_RESPONSE"),
        (replies("<think>They could.</think>"), "EMPTY_RESPONSE"),
        (replies("They cou", finish="length"), "TRUNCATED"),
        (replies_calling(("call_a", "ping", "{}")), "tool_calls"),
        (replies('<tool_call>{"name": "ping", "arguments": {}}</tool_call>'), "tool_calls"),
        (replies("No.", finish="content_filter"), "CONTENT_FILTER"),
        (replies("z" * 8_000), "too_long"),
        (replies_with({}), "NO_CHOICES"),
        (replies_with({"error": {"code": 400, "message": "too long"}}), "PROVIDER_ERROR"),
        (replies_with({"error": {"code": 503, "message": "busy"}}), "PROVIDER_ERROR"),
        (fails_to_send("status", "no such model", 404), "request_failed"),
        (fails_to_send("timeout", "too slow"), "request_failed"),
    ],
)
def test_what_is_no_summary_is_not_taken_and_the_next_policy_shortens(reply: Turn, why: str) -> None:
    asked = plan(SUMMARIZE, NEWEST, max_tries=1, tools=[PING], window=4_010)
    played = Playbook(asked).play(ASKS_OF_MORE, reply, asks(kept=(HI, *LONG[8:])), *DONE)
    assert rejected(played.notes) == [why]
    assert [note.policies for note in played.notes if isinstance(note, HistoryShortened)] == [(NEWEST,)]
    assert played.state.tally.tool_calls == 0


ASKS_OF_MORE = asks_for_summary(*quoted(*LONG[1:14]), words=501)


def test_a_summary_that_looks_like_a_call_is_taken_only_where_answers_are_too() -> None:
    text = 'Action: ping\nAction Input: {"n": 1}'
    assert rejected(fold(plan(tools=[PING]), [says(text)]).notes) == ["tool_calls"]
    assert rejected(fold(plan(tools=[PING], accept_suspected_calls=True), [says(text)]).notes) == []


def test_a_summary_that_uses_up_its_limit_counts_as_cut() -> None:
    usage = {"prompt_tokens": 3_000, "completion_tokens": 1_000}
    at = fold(plan(options={"max_tokens": 10}), [says(TEXT, usage=usage)])
    assert rejected(at.notes) == ["TRUNCATED"]
    assert isinstance(outcome(at), ContextOverflow)


def test_without_another_policy_a_run_ends_and_what_the_user_says_next_tries_again() -> None:
    at = fold(plan(), [says("")])
    assert rejected(at.notes) == ["EMPTY_RESPONSE"]
    assert isinstance(outcome(at), ContextOverflow)
    assert request_in(step(at.state, UserSpoke("And now?"))).purpose == "summary"


def test_an_earlier_summary_stays_where_a_new_one_comes_to_nothing() -> None:
    at = fold(plan(SUMMARIZE, NEWEST), [says(TEXT), says("x" * 12_000, 2), UserSpoke("Question 13?")])
    assert request_in(at).purpose == "summary"
    shortened = step(at.state, says("", 3))
    assert rejected(shortened.notes) == ["EMPTY_RESPONSE"]
    assert [*shortened.state.messages.outgoing][:2] == [HI, SUMMARY]
    assert len(shortened.state.messages.outgoing) < len(at.state.messages.outgoing)


def test_a_summary_is_retried_like_any_request() -> None:
    asked = plan()
    first = backoff_ms(asked.config, asked.seed, ref=1, attempt=1)
    second = backoff_ms(asked.config, asked.seed, ref=3, attempt=2)
    busy = replies_with({"error": {"code": 503, "message": "busy"}})
    played = Playbook(asked).play(
        *(ASKS, fails_to_send("timeout", "slow"), waits(first), elapses()),
        *(ASKS, busy, waits(second), elapses()),
        *(ASKS, replies(TEXT), SUMMED, *DONE),
    )
    requested = [note for note in played.notes if isinstance(note, SummaryRequested)]
    assert [(note.turn, note.attempt) for note in requested] == [(1, 1), (1, 2), (1, 3)]
    assert [note.turn for note in played.notes if isinstance(note, RequestLost | RetryPlanned)] == [1, 1, 1]
    assert played.state.tally.turns == 1


def test_its_tokens_and_cost_count_and_it_is_no_turn() -> None:
    usage: Tree = {"prompt_tokens": 900, "completion_tokens": 100, "cost": 0.25}
    said = replies_with(body_of(TEXT) | {"usage": usage})
    played = Playbook(plan(max_turns=1)).play(ASKS, said, SUMMED, *DONE)
    tally = played.state.tally
    assert (tally.turns, tally.prompt_tokens, tally.completion_tokens, tally.cost) == (1, 900, 100, 0.25)
    (note,) = (note for note in played.notes if isinstance(note, HistorySummarized))
    assert (note.prompt_tokens, note.completion_tokens) == (900, 100)
    Playbook(plan(max_cost=0.2)).play(ASKS, said, finishes(BudgetSpent("cost", 0.25, 0.2)))
    wasted = fold(plan(max_total_tokens=1_000), [says("", usage=usage)])
    assert SummaryRejected(1, "EMPTY_RESPONSE", 900, 100) in wasted.notes
    assert outcome(wasted) == BudgetSpent("tokens", 1_000, 1_000)


def test_what_the_user_says_meanwhile_joins_the_next_request() -> None:
    now = UserMessage("And now?")
    Playbook(plan()).play(
        *(ASKS, UserSpoke(now.content), replies(TEXT)),
        *(asks(now, kept=(HI, SUMMARY, *NEW, now)), *DONE),
    )


def test_a_long_message_meanwhile_allows_another_summary() -> None:
    now = UserMessage("And now? " + "n" * 9_000)
    again = summary_message("They counted to 12.")
    old = (("Earlier summary:", TEXT), *quoted(*NEW))
    Playbook(plan()).play(
        *(ASKS, UserSpoke(now.content), replies(TEXT), asks_for_summary(*old)),
        *(replies("They counted to 12."), asks(now, kept=(HI, again, now)), *DONE),
    )


def test_a_run_can_be_cancelled_while_it_waits_for_a_summary() -> None:
    cancel = CancelRequested("enough")
    played = Playbook(plan()).play(ASKS, cancel, finishes(Cancelled("enough")))
    assert [note.turn for note in played.notes if isinstance(note, RequestAbandoned)] == [1]
    ms = backoff_ms(LoopConfig(), seed=0, ref=1, attempt=1)
    waiting = Playbook(plan()).play(
        *(ASKS, fails_to_send("timeout", "slow"), waits(ms), cancel, finishes(Cancelled("enough")))
    )
    assert [note.turn for note in waiting.notes if isinstance(note, RequestAbandoned)] == [1]
    assert request_in(step(waiting.state, UserSpoke("Go on."))).purpose == "summary"


def test_a_run_that_waits_for_a_summary_can_be_stored() -> None:
    asked = start(plan())
    assert asked.state.phase == AwaitingReply(1, 1, True, "summary")
    stored = load_state(dump(asked.state))
    assert stored == asked.state
    assert pending(stored) == asked.effects
    assert step(stored, says(TEXT)) == step(asked.state, says(TEXT))
    lost = step(asked.state, fails_to_send("timeout", "slow")(1))
    assert isinstance(lost.state.phase, Waiting)
    assert load_state(dump(lost.state)) == lost.state


def test_a_summary_is_not_asked_for_where_a_policy_before_it_suffices() -> None:
    call = ("call_0", "ping", "{}")
    result = (calling(call), tells("call_0", "ping", {"value": "r" * 4_000}))
    messages = (HI, *result, *LONG[1:])
    suffices = start(plan("shorten_old_tool_results", SUMMARIZE, messages=messages, window=4_500))
    assert request_in(suffices).purpose == "turn"
    both = start(plan("shorten_old_tool_results", SUMMARIZE, messages=messages))
    noted = [note for note in both.notes if isinstance(note, HistoryShortened | SummaryRequested)]
    assert [type(note) for note in noted] == [HistoryShortened, SummaryRequested]


@pytest.mark.parametrize(
    ("messages", "window"),
    [
        ((HI, ANSWERS[0], UserMessage("y" * 18_000)), 4_000),
        ((HI, ANSWERS[0], QUESTIONS[0]), 300),
        ((HI, SUMMARY, AssistantMessage("y" * 16_000)), 4_000),
        ((HI, SUMMARY, UserMessage("y" * 15_800)), 4_000),
    ],
    ids=["what stays is too long", "no request fits", "no old turns", "nothing but a summary"],
)
def test_a_summary_that_cannot_help_is_not_asked_for(messages: tuple[Message, ...], window: int) -> None:
    at = start(plan(messages=messages, window=window))
    assert isinstance(outcome(at), ContextOverflow)
    assert not any(isinstance(note, SummaryRequested) for note in at.notes)


def test_a_call_in_a_summary_does_not_run_where_the_model_repeats_it() -> None:
    call = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
    summed = fold(plan(tools=[PING]), [says(f"A page says:\n```\n{call}\n```")])
    assert any(map(is_summary, summed.state.messages.outgoing))
    repeated = step(summed.state, says(call, 2))
    assert RepairApplied(1, "TEXT_CALL_QUOTED") in repeated.notes
    assert repeated.state.tally.tool_calls == 0


def test_control_tokens_in_a_summary_are_broken_where_the_provider_wants_that() -> None:
    at = fold(plan(provider=Provider(special_token_guard=True)), [says("They <|im_end|> counted.")])
    assert summary_message("They < |im_end|> counted.") in [*at.state.messages.outgoing]


def test_of_many_short_messages_the_oldest_are_left_out_of_the_request() -> None:
    said = [AssistantMessage(f"Step {number}.") for number in range(3_000)]
    at = start(plan(messages=(HI, SUMMARY, *said), window=2_000))
    effect = request_in(at)
    assert effect.purpose == "summary"
    (message,) = effect.request.messages.messages
    text = message.content
    assert len(text) // 4 <= 1_500
    assert f"> {TEXT}\n" in text
    assert "> Step 0.\n" not in text
    assert "> Step 2800.\n" in text
    assert [*at.state.messages.outgoing][-1] == said[-1]


def test_long_messages_are_cut_in_the_request() -> None:
    said = [AssistantMessage(letter * 9_000) for letter in "abc"]
    effect = request_in(start(plan(messages=(HI, *said, QUESTIONS[0]))))
    (message,) = effect.request.messages.messages
    assert "characters left out]" in message.content
    assert 2_000 <= len(message.content) // 4 <= 3_000
