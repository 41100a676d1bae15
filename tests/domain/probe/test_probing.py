"""The course of a probe: repetition, detours, stops; and what it takes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.probes import QUESTIONS, Event, decided_settings, probed, select_questions
from tests.servers.quirky_provider import Profile
from toolreel_core._jsontext import canonical
from toolreel_core._probe import Ask, ProbeCost, Probing, estimate_remaining_cost, findings
from toolreel_core._protocol import ReplyReceived, RequestFailed
from toolreel_core._settings import estimate_tokens_by_bytes

GOOD = Profile()
OK = {"choices": [{"message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}]}


def failing(status: int, retry_after_ms: int | None = None) -> RequestFailed:
    return RequestFailed(1, "status", f"HTTP {status}: no", status, "no", retry_after_ms)


def told(*events: Event, only: tuple[str, ...] = ("plain",), repeat: int = 1) -> Probing:
    """A probe that was told these events, as far as it asked."""
    probing = Probing("m", select_questions(only), repeat)
    for event in events:
        ask = probing.ask
        assert ask is not None
        probing = probing.with_answer(ask, event)
    return probing


def test_a_question_on_which_a_setting_hangs_is_repeated() -> None:
    questions = select_questions(("tools", "tool_choice_none"))
    probing = probed(GOOD, questions=questions, repeat=3)
    assert [len(probing.tries_of(name)) for name in ("plain", "tools", "tool_choice_none")] == [1, 3, 1]


def test_answers_that_disagree_are_asked_for_until_five_and_settle_nothing() -> None:
    questions = select_questions(("parallel_tool_calls",))
    probing = probed(Profile(flip="parallel_tool_calls"), questions=questions, repeat=2)
    [unstable] = [each for each in findings(probing) if not each.is_stable]
    assert (unstable.name, dict(unstable.words)) == (
        "parallel_tool_calls",
        {"one_call": 3, "refused": 2},
    )
    assert "supports_parallel_tool_calls" not in {each.key for each in decided_settings(findings(probing))}
    more = probed(Profile(flip="parallel_tool_calls"), questions=questions, repeat=7)
    assert len(more.tries_of("parallel_tool_calls")) == 7


@pytest.mark.parametrize(
    ("events", "why", "message"),
    [
        ([failing(401)], "key", ""),
        ([failing(402)], "payment", ""),
        ([failing(407)], "key", ""),
        ([RequestFailed(1, "connect", "ConnectError: refused")], "connect", ""),
        ([failing(429, 3_600_000)], "rate", "it wants 3600 s between requests"),
        ([failing(503)] * 3, "silent", ""),
    ],
)
def test_what_no_other_question_would_mend_stops_the_probe(
    events: list[RequestFailed], why: str, message: str
) -> None:
    probing = told(*events)
    assert probing.stopped is not None
    assert (probing.stopped.why, probing.ask) == (why, None)
    assert probing.stopped.message.endswith(message)
    assert [one.verdict.word for one in probing.tries] == (["lost"] if why == "silent" else [])


def test_too_many_requests_are_waited_for_as_long_as_the_server_says() -> None:
    probing = told(failing(429, 2_500))
    assert probing.ask is not None
    assert (probing.ask.wait_ms, probing.ask.number) == (2_500, 2)
    done = probing.with_answer(probing.ask, ReplyReceived(2, 200, json.dumps(OK)))
    assert (done.ask, done.tries[0].requests) == (None, (1, 2))


def test_waits_double_where_the_server_says_nothing() -> None:
    probing, waits = told(failing(429)), list[int]()
    while ask := probing.ask:
        waits.append(ask.wait_ms)
        probing = probing.with_answer(ask, failing(429))
    assert waits == [1_000, 2_000, 4_000]
    assert probing.stopped is not None
    assert probing.stopped.why == "rate"


def test_a_question_without_an_answer_settles_nothing_and_the_others_go_on() -> None:
    def before(ask: Ask) -> Event | None:
        lost = ask.question.name == "two_systems"
        return RequestFailed(1, "timeout", "no answer in 60 s") if lost else None

    probing = probed(GOOD, before=before)
    assert probing.stopped is None
    [lost] = [each for each in findings(probing) if each.word == "lost"]
    assert (lost.name, len(lost.requests)) == ("two_systems", 1)
    assert "single_leading_system" not in {each.key for each in decided_settings(findings(probing))}


def test_three_in_a_row_without_an_answer_stop_the_probe() -> None:
    def before(ask: Ask) -> Event | None:
        return RequestFailed(1, "timeout", "no answer") if ask.question.group != "basics" else None

    probing = probed(GOOD, before=before, repeat=1)
    assert probing.stopped is not None
    assert probing.stopped.why == "silent"


def test_what_is_no_model_is_asked_in_other_forms_and_nothing_else() -> None:
    page = ReplyReceived(1, 200, "<html><h1>Welcome</h1></html>")
    probing = told(page, page, page, only=())
    assert (probing.ask, [each.question for each in probing.tries]) == (
        None,
        ["plain", "responses", "messages"],
    )
    assert not decided_settings(findings(probing))
    assert "Welcome" in findings(probing)[0].detail


def test_questions_without_an_answer_in_a_recording_are_passed() -> None:
    probing = Probing("m", select_questions(("plain", "responses")))
    asked = []
    while ask := probing.ask:
        asked.append(ask.question.name)
        probing = probing.with_skipped_question(ask)
    assert asked == ["plain", "responses"]


def test_the_estimate_is_near_to_what_a_good_server_is_asked() -> None:
    probing, asked = Probing("scripted", QUESTIONS), list[str]()
    cost = estimate_remaining_cost(probing)
    done = probed(GOOD, repeat=3, before=lambda ask: asked.append(canonical(ask.body)))
    assert abs(cost.requests - done.sent) <= 6
    assert sum(map(estimate_tokens_by_bytes, asked)) == pytest.approx(cost.prompt_tokens, rel=0.25)


def test_what_was_answered_is_not_counted_again() -> None:
    done = probed(GOOD, repeat=1)
    assert estimate_remaining_cost(done) == ProbeCost(0, 0, 0)
    left = replace(done, tries=done.tries[:-1])
    assert estimate_remaining_cost(left).requests == 1
