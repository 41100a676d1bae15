"""Judges: what they are asked, how their votes are read, and what becomes of a verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.evals.rehearsing import rehearse
from toolreel_core._conversation.message import (
    AssistantMessage,
    SentCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
    shown_content,
)
from toolreel_core._jsontext.canonical import JsonText
from toolreel_core.evals._other_models.judge import VOTES, ModelJudge, Opinion, Vote, opinion_of, vote_of
from toolreel_core.evals._records.record import JudgedCheck
from toolreel_core.evals._scenarios.catalogue import scenario, scripts_of
from toolreel_core.evals._verdicts.verdict import holds_without_judges, judge

JUDGE = ModelJudge("polite", "judge-model", "Was the assistant polite?")


def test_it_sees_the_conversation_and_nothing_that_only_a_provider_understands() -> None:
    secret = JsonText('{"reasoning_content":"I know better."}')
    messages = JUDGE.messages(
        [
            SystemMessage("Sell lamps."),
            UserMessage("How many?"),
            AssistantMessage("", (SentCall("a", "stock_of", '{"sku":"L"}'),), secret),
            ToolMessage("a", '{"pieces":3}'),
            AssistantMessage("Three."),
        ]
    )
    assert shown_content(messages[1]) == "\n".join(
        (
            '{"instructions":"Sell lamps."}',
            '{"user":"How many?"}',
            '{"call":"stock_of","arguments":"{\\"sku\\":\\"L\\"}"}',
            '{"result":"{\\"pieces\\":3}"}',
            '{"assistant":"Three."}',
            "",
            "Question: Was the assistant polite?",
        )
    )


@pytest.mark.parametrize(
    ("reply", "vote", "reason"),
    [
        ('{"reason": "It said \\"please\\".", "answer": "yes"}', "yes", 'It said \\"please\\".'),
        ('Sure:\n```json\n{"answer": "No", "reason": "Rude."}\n```', "no", "Rude."),
        ("**Yes**", "yes", ""),
        ('{"answer": "yes"} or {"answer": "no"}', "unclear", '{"answer": "yes"} or {"answer": "no"}'),
        ("It depends.", "unclear", "It depends."),
        ('{"answer": "not sure"}', "unclear", '{"answer": "not sure"}'),
        ("", "unclear", ""),
        (f'{{"reason": "{"a " * 200}", "answer": "no"}}', "no", f"{('a ' * 150)}…"),
    ],
)
def test_a_vote_is_read_from_its_reply(reply: str, vote: str, reason: str) -> None:
    assert vote_of(reply) == (vote, reason)


@given(st.lists(st.tuples(st.sampled_from(VOTES), st.text(max_size=3)), min_size=1, max_size=9))
def test_most_clear_votes_decide(cast: list[tuple[Vote, str]]) -> None:
    found = opinion_of("polite", cast)
    yes, no = (sum(vote == which for vote, _ in cast) for which in ("yes", "no"))
    assert found.answer == ("yes" if yes > no else "no" if no > yes else "")
    assert (found.answer == "no") == bool(found.finding)
    recorded = JudgedCheck("polite", found.votes, found.reason, others_hold=True)
    assert recorded.answer == found.answer
    assert recorded.unanimous == (len({vote for vote, _ in cast}) == 1)
    assert len(found.votes) == len(cast)
    if found.answer:
        assert (found.answer, found.reason) in cast


def test_a_reason_is_that_of_the_side_that_won() -> None:
    found = opinion_of("polite", [("no", "Rude."), ("yes", "Kind."), ("no", "Curt.")])
    assert found.finding == "the judge says no (2 of 3 votes): Rude."
    assert opinion_of("polite", [("no", "")]).finding == "the judge says no (1 of 1 votes)"


def verdict_with(opinion: Opinion, script: str = "good", **changes: str) -> tuple[str, str]:
    one = scenario("one_text")
    case = replace(one.begin("1"), judges=(replace(JUDGE, **changes),))  # type: ignore[arg-type]
    scripts = scripts_of(one, "1")
    seen = rehearse(one, scripts.good if script == "good" else scripts.bad).evidence
    seen = replace(seen, opinions=(opinion,))
    assert holds_without_judges(case, seen) == (script == "good")
    found = judge(case, seen)
    return found.result, found.category


def test_a_judge_is_one_check_among_others_and_comes_last() -> None:
    no, yes = Opinion("polite", ("no",)), Opinion("polite", ("yes",))
    assert verdict_with(yes) == ("pass", "")
    assert verdict_with(no) == ("fail", "task.outcome:polite")
    assert verdict_with(no, layer="exercise") == ("pass_unexercised", "task.exercise:polite")
    assert verdict_with(no, "bad") == verdict_with(yes, "bad") == ("fail", "task.outcome:orders")


def test_a_judge_without_an_answer_says_nothing_about_the_model() -> None:
    undecided = Opinion("polite", ("failed", "unclear", "yes", "no"), "no connection")
    assert verdict_with(undecided) == ("void", "helper.judge")
    assert verdict_with(replace(undecided, reason="")) == ("void", "helper.judge")
    assert verdict_with(undecided, "bad") == ("fail", "task.outcome:orders")
