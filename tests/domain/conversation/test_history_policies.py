from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.samples import complaint, project, worked
from toolreel_core._conversation import (
    AssistantMessage,
    Cost,
    HistoryPolicy,
    Message,
    Passage,
    SentCall,
    SystemMessage,
    ToolMessage,
    Turn,
    UserMessage,
    apply_history_policies,
    conversation_passages,
    drop_old_tool_turns,
    group_into_turns,
    history_policy,
    is_summary,
    is_user_authored,
    keep_newest_turns,
    shorten_old_tool_results,
    split_for_summary,
    summary_message,
    summary_request_text,
    task_passages,
    wire_text,
)
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, canonical
from toolreel_core._settings import estimate_tokens_by_bytes
from toolreel_core._tools import Envelope, arguments_not_json, failed_envelope

RULES, TASK, AGAIN = SystemMessage("Be brief."), UserMessage("Count."), UserMessage("Once more.")
DONE = AssistantMessage("Done.")
SHIPPED = (shorten_old_tool_results, drop_old_tool_turns, keep_newest_turns)
NAMES = ("shorten_old_tool_results", "drop_old_tool_turns", "keep_newest_turns")
MUCH = 10**9


def tokens(message: Message) -> int:
    return estimate_tokens_by_bytes(wire_text(message))


def one_each(_: Message) -> int:
    return 1


def calling(*ids: str) -> AssistantMessage:
    return AssistantMessage("", tuple(SentCall(each, "read", "{}") for each in ids))


def result(call_id: str, data: Json = "x" * 400) -> ToolMessage:
    return ToolMessage(call_id, Envelope(True, "read", canonical({"text": data})).text())


def told(message: Message) -> dict[str, Any]:
    """What the envelope in a result says."""
    assert isinstance(message, ToolMessage)
    tree: dict[str, Any] = json.loads(message.content)
    return tree


def after(
    policy: HistoryPolicy, *messages: Message, excess: int = MUCH, cost: Cost = tokens
) -> tuple[Message, ...]:
    return flat(policy(group_into_turns(messages), excess, cost))


def flat(history: tuple[Turn, ...]) -> tuple[Message, ...]:
    return tuple(message for turn in history for message in turn.messages)


def test_only_what_the_user_said_first_is_pinned_and_every_word_of_the_system() -> None:
    assert [turn.pinned for turn in group_into_turns([RULES, DONE, TASK, RULES, AGAIN])] == [
        *(True, False, True, True, False)
    ]


def test_a_result_without_a_call_makes_no_trouble() -> None:
    assert group_into_turns([]) == ()
    assert group_into_turns([result("a"), TASK]) == (Turn((result("a"),)), Turn((TASK,), pinned=True))
    assert after(shorten_old_tool_results, ToolMessage("a", "x" * 900), TASK, DONE) != ()


def test_old_results_are_shortened_oldest_first_until_it_is_enough() -> None:
    first, second = (calling("a"), result("a", "x" * 4_000)), (calling("b"), result("b", "y" * 4_000))
    newest = (calling("c"), result("c", "z" * 4_000))
    short = after(shorten_old_tool_results, TASK, *first, *second, *newest, excess=500)
    assert short[3:] == (*second, *newest)
    assert told(short[2]) == {
        "ok": True,
        "tool_name": "read",
        "data": {},
        "warnings": [
            "4011 bytes of this older result were left out to save room. If you need them, call read again."
        ],
        "errors": [],
    }
    both = after(shorten_old_tool_results, TASK, *first, *second, *newest, excess=1_500)
    assert told(both[4])["data"] == {}
    assert both[5:] == newest


def test_a_result_that_failed_stays_a_failure_for_the_same_reasons() -> None:
    fault = canonical({"log": "x" * 900})
    content = Envelope(
        False, "read", fault, ("slow",), failed_envelope("read", arguments_not_json("read", "x")).errors
    )
    short = after(shorten_old_tool_results, calling("a"), ToolMessage("a", content.text()), DONE)
    assert (told(short[1])["ok"], told(short[1])["data"]) == (False, {})
    assert [error["code"] for error in told(short[1])["errors"]] == ["ARGUMENTS_JSON_PARSE_ERROR"]


@pytest.mark.parametrize(
    ("content", "name", "size"), worked("a result that is no envelope becomes one", "runs-and-plans")
)
def test_a_result_that_is_no_envelope_becomes_one(content: str, name: str, size: int) -> None:
    short = after(shorten_old_tool_results, calling("a"), ToolMessage("a", content), DONE, cost=length)
    assert (told(short[1])["ok"], told(short[1])["tool_name"], told(short[1])["data"]) == (True, name, {})
    assert told(short[1])["warnings"][0].startswith(f"{size} bytes ")


def length(message: Message) -> int:
    assert not isinstance(message, SystemMessage)
    return len(message.content)


def test_a_result_stays_where_shortening_saves_nothing() -> None:
    long_error = failed_envelope("read", arguments_not_json("read", "x" * 500))
    for content, cost in ((long_error.text(), tokens), ("x" * 900, one_each)):
        messages = (calling("a"), ToolMessage("a", content), DONE)
        assert after(shorten_old_tool_results, *messages, cost=cost) == messages


def test_the_oldest_turns_go_first_and_only_as_many_as_have_to() -> None:
    first, second, newest = ((calling(each), result(each)) for each in "abc")
    drop = partial(after, keep_newest_turns, RULES, TASK, *first, *second, *newest, cost=one_each)
    assert drop(excess=1) == drop(excess=2) == (RULES, TASK, *second, *newest)
    assert drop(excess=3) == drop(excess=MUCH) == (RULES, TASK, *newest)
    assert drop(excess=0) == (RULES, TASK, *first, *second, *newest)


def test_a_question_goes_together_with_its_answers() -> None:
    second = (AGAIN, calling("b"), result("b"), AssistantMessage("Two."))
    third = (UserMessage("And now?"), calling("c"), result("c"))
    drop = partial(after, keep_newest_turns, TASK, DONE, *second, *third, cost=one_each)
    assert drop(excess=1) == (TASK, *second, *third)
    assert drop(excess=2) == (TASK, *third)
    assert drop(excess=MUCH) == (TASK, *third)


def test_the_question_that_the_newest_turn_answers_stays() -> None:
    newest = (calling("c"), result("c"))
    history = (TASK, DONE, AGAIN, calling("b"), result("b"), *newest)
    assert after(keep_newest_turns, *history) == (TASK, AGAIN, *newest)


@pytest.mark.parametrize("policy", SHIPPED)
def test_results_that_the_model_is_asked_about_once_more_stay_as_they_are(policy: HistoryPolicy) -> None:
    nudge = UserMessage("Now answer in words.")
    history = (TASK, DONE, AGAIN, calling("a"), result("a"), nudge)
    assert after(policy, *history)[-4:] == (AGAIN, calling("a"), result("a"), nudge)


def test_a_policy_that_is_not_there_is_told_with_the_nearest() -> None:
    act: list[Callable[[], object]] = [
        lambda: history_policy("keep_newest_turn"),
        lambda: apply_history_policies([TASK], ["keep_newest_turn"], 0, tokens),
    ]
    for each in act:
        assert complaint(ConfigError, each) == (
            "there is no history policy 'keep_newest_turn'; did you mean 'keep_newest_turns'?"
        )


def test_policies_are_applied_in_order_until_the_excess_is_gone() -> None:
    first, second, newest = ((calling(each), result(each, "x" * 4_000)) for each in "abc")
    history = (RULES, TASK, *first, *second, *newest)
    assert apply_history_policies(history, NAMES, 0, tokens) == (history, ())
    sent, applied = apply_history_policies(history, NAMES, 1_800, tokens)
    assert [type(message) for message in sent] == [type(message) for message in history]
    assert applied == NAMES[:1]
    sent, applied = apply_history_policies(history, NAMES, 2_000, tokens)
    assert sent[:3] == (RULES, TASK, calling("b"))
    assert applied == NAMES[:2]
    assert apply_history_policies(history, NAMES, MUCH, tokens) == ((RULES, TASK, *newest), NAMES[:2])


# What holds for any valid history.


@st.composite
def histories(draw: st.DrawFn) -> tuple[Message, ...]:
    """Histories that every provider takes: exchanges, some with calls, the last of them perhaps under way."""
    numbers = count()
    words = st.text("abc \n", min_size=1, max_size=30).filter(str.strip)
    data: st.SearchStrategy[Json] = st.sampled_from([{}, {"x": 1}, {"x": "y" * 150}, {"x": "é" * 900}])

    def rounds() -> list[Message]:
        found: list[Message] = []
        for _ in range(draw(st.integers(0, 3))):
            ids = [f"c{next(numbers)}" for _ in range(draw(st.integers(1, 3)))]
            found.append(calling(*ids))
            found += [
                ToolMessage(each, Envelope(draw(st.booleans()), "read", canonical(draw(data))).text())
                for each in draw(st.permutations(ids))
            ]
        return found

    messages: list[Message] = [RULES] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(0, 4))):
        messages += [UserMessage(draw(words)), *rounds(), AssistantMessage(draw(words))]
    messages += [UserMessage(draw(words)), *rounds()]
    return tuple(messages)


policies = st.sampled_from(SHIPPED)
excesses = st.integers(0, 3_000)
costs: st.SearchStrategy[Cost] = st.sampled_from([tokens, one_each])


@given(histories(), policies, excesses, costs)
def test_a_valid_history_stays_one(
    history: tuple[Message, ...], policy: HistoryPolicy, excess: int, cost: Cost
) -> None:
    assume(project(history) == history)
    sent = after(policy, *history, excess=excess, cost=cost)
    assert project(sent) == sent


@given(histories(), policies, excesses, costs)
def test_what_is_pinned_or_newest_stays_and_the_order_is_kept(
    history: tuple[Message, ...], policy: HistoryPolicy, excess: int, cost: Cost
) -> None:
    before = group_into_turns(history)
    kept = policy(before, excess, cost)
    heads = [turn.head for turn in before]
    places = [next(at for at, head in enumerate(heads) if head is turn.head) for turn in kept]
    assert places == sorted(set(places))
    assert {at for at, turn in enumerate(before) if turn.pinned} <= set(places)
    assert kept[-1] == before[-1]


@given(histories(), policies, st.integers(1, 3_000), costs)
def test_what_is_changed_costs_less_and_what_is_enough_is_not_gone_beyond(
    history: tuple[Message, ...], policy: HistoryPolicy, excess: int, cost: Cost
) -> None:
    before = group_into_turns(history)
    kept = policy(before, excess, cost)
    price = sum(map(cost, flat(before))) - sum(map(cost, flat(kept)))
    assert price > 0 if kept != before else price == 0
    assert policy(before, 0, cost) == before
    if kept == before:
        assert policy(before, MUCH, cost) == before, "there was something to save"
    if price >= excess > 1:
        assert policy(kept, 0, cost) == kept


@given(histories(), excesses)
def test_policies_together_reach_the_aim_or_the_least_that_may_stay(
    history: tuple[Message, ...], excess: int
) -> None:
    sent, applied = apply_history_policies(history, NAMES, excess, tokens)
    assert project(sent) == sent
    saved = sum(map(tokens, history)) - sum(map(tokens, sent))
    least, _ = apply_history_policies(history, NAMES, MUCH, tokens)
    assert saved >= excess or sent == least
    assert (saved > 0) == bool(applied)
    assert apply_history_policies(history, NAMES, excess, tokens) == (sent, applied)


@given(histories())
def test_turns_are_the_history_and_no_call_is_apart_from_its_result(history: tuple[Message, ...]) -> None:
    grouped = group_into_turns(history)
    assert flat(grouped) == history
    for turn in grouped:
        calls = [call.id for call in turn.head.calls] if isinstance(turn.head, AssistantMessage) else []
        results = [each.call_id for each in turn.messages if isinstance(each, ToolMessage)]
        assert sorted(calls) == sorted(results)


HI, SAID = UserMessage("hi"), AssistantMessage("Hello.")
EARLIER = summary_message("They met.")
CALLED = (AssistantMessage("", (SentCall("a", "ping", "{}"),)), ToolMessage("a", "pong"))


def test_a_summary_is_a_message_of_its_own_kind() -> None:
    assert is_summary(EARLIER)
    assert EARLIER.content.endswith("\n\nThey met.")
    assert [is_user_authored(message) for message in (HI, EARLIER, SAID)] == [True, False, False]
    assert [is_summary(message) for message in (HI, SAID, AssistantMessage(EARLIER.content))] == [False] * 3


def test_a_summary_is_kept_by_the_other_policies_and_is_no_question() -> None:
    history = group_into_turns([HI, EARLIER, *CALLED, AGAIN, SAID, AGAIN])
    assert [turn.pinned for turn in history] == [True, True, False, False, False, False]
    assert flat(keep_newest_turns(history, MUCH, one_each)) == (HI, EARLIER, AGAIN)
    # The calls after a summary are no answers to it, so they need not go where one of them goes.
    work = group_into_turns([HI, EARLIER, *CALLED, *CALLED, *CALLED])
    assert flat(keep_newest_turns(work, 2, one_each)) == (HI, EARLIER, *CALLED, *CALLED)


def test_a_summary_stands_for_what_the_newest_turns_leave_and_for_the_summary_before() -> None:
    rules = SystemMessage("Be brief.")
    history = (rules, HI, EARLIER, SAID, rules, AGAIN, *CALLED, AGAIN, SAID, AGAIN)
    old = (EARLIER, SAID, AGAIN, *CALLED)
    assert split_for_summary(history, 3, one_each) == ((rules, HI), old, (rules, AGAIN, SAID, AGAIN))
    assert split_for_summary(history, 0, one_each) == (history, (), ())


def test_messages_are_quoted_as_they_were_sent() -> None:
    call: Json = {"id": "a", "function": {"name": "ping", "arguments": '{"n":1}'}}
    sent: list[dict[str, Json]] = [
        {"role": "user", "content": EARLIER.content},
        {"role": "user", "content": [{"type": "text", "text": "Look:"}, {"type": "image_url"}]},
        {"role": "assistant", "content": "I ping.", "tool_calls": [call, None]},
        {"role": "tool", "tool_call_id": "a", "content": "pong"},
        {"role": "tool", "tool_call_id": 7, "content": {"a": 1}},
        {"role": "assistant", "content": None},
    ]
    assert conversation_passages(sent) == (
        Passage("Earlier summary:", "They met."),
        Passage("User:", "Look:\n[image_url]"),
        Passage("Assistant:", "I ping."),
        Passage("Assistant calls ping:", '{"n":1}'),
        Passage("Assistant calls :", ""),
        Passage("Result of ping:", "pong"),
        Passage("Result of a call:", '{"a":1}'),
    )


def test_the_request_quotes_the_task_first_and_says_how_long_the_summary_may_be() -> None:
    text = summary_request_text(
        task_passages([Passage("User:", "hi")]), [Passage("Assistant:", "a\nb")], 99, 50
    )
    assert "in at most 50 words." in text
    assert text.endswith(
        "so the summary need not repeat it:\n> hi\n\nAssistant:\n> a\n> b\n\n"
        "End of the quotation. Write the summary now."
    )


def test_a_long_passage_is_cut_in_its_middle() -> None:
    assert Passage("User:", "abcdefghij").cut(10) == "User:\n> abcdefghij"
    assert Passage("User:", "abcdefghij").cut(5) == "User:\n> abc\n> [5 characters left out]\n> ij"
    assert Passage("User:", "").cut(5) == "User:\n> "


@given(
    st.text(st.characters() | st.sampled_from("\r\n\x0b\x1c\x85\u2028> "), max_size=40), st.integers(1, 60)
)
def test_nothing_in_a_passage_ends_the_quotation(text: str, length: int) -> None:
    heading, *lines = Passage("User:", text).cut(length).splitlines()
    assert heading == "User:"
    assert lines
    assert all(line.startswith("> ") for line in lines)
