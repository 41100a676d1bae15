from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.conformance.history import Message
from benchmarks.conformance.judge import Raised, Run, judged
from benchmarks.conformance.provider import Seen
from benchmarks.conformance.replies import FINAL
from benchmarks.conformance.shape import Call, Shape

ASKED: Message = {"role": "user", "content": "Prepare the report."}
CALLED: Message = {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]}
RESULT: Message = {"role": "tool", "tool_call_id": "c", "content": "{}"}

LOG = Call("log_entry", {"title": "Fog", "text": "Thick."})
EXECUTES = Shape(id="s", group="g", about="a", evidence=("e#1",), right=("executes",), calls=(LOG,))
TELLS = replace(EXECUTES, right=("tells",), calls=())
FAILS = replace(TELLS, right=("fails", "recovers"))


def seen(*results: Message, refused: tuple[str, ...] = ()) -> Seen:
    return Seen(taken=[[ASKED], [ASKED, CALLED, *results]], refused=list(refused))


def run(*ran: Call, text: str = FINAL, raised: Raised | None = None, seen: Seen | None = None) -> Run:
    return Run(ran, text, raised, seen or Seen(taken=[[ASKED]]))


def test_a_call_that_ran_once_and_was_answered_is_right() -> None:
    assert judged(EXECUTES, run(LOG, seen=seen(RESULT)))[0] == "right"


def test_a_call_that_ran_twice_is_wrong_whatever_came_of_the_run() -> None:
    twice = run(LOG, LOG, raised=Raised("Error", "late"))
    assert judged(EXECUTES, twice) == ("wrong", 'ran log_entry {"title": "Fog", "text": "Thick."}')


def test_other_arguments_are_wrong() -> None:
    assert judged(EXECUTES, run(Call("log_entry", {"title": "Fog", "text": "Thin."})))[0] == "wrong"


def test_half_a_pair_may_be_replaced_or_handed_over() -> None:
    replaced = replace(EXECUTES, calls=(Call("log_entry", {"text": "\ufffd"}),))
    assert judged(replaced, run(Call("log_entry", {"text": "\ud83d"})))[0] == "right"


def test_a_call_that_ran_is_not_right_if_the_provider_refuses_the_history() -> None:
    refused = seen(RESULT, refused=("call id ''",))
    assert judged(EXECUTES, run(LOG, raised=Raised("BadRequest", "400"), seen=refused))[0] == "error"
    assert judged(EXECUTES, run(LOG, seen=refused))[0] == "silent"


def test_telling_the_model_is_second_best_where_the_call_could_run() -> None:
    assert judged(EXECUTES, run(seen=seen(RESULT)))[0] == "told"


def test_telling_the_model_is_right_where_the_call_must_not_run() -> None:
    assert judged(TELLS, run(seen=seen(RESULT)))[0] == "right"
    assert judged(TELLS, run(LOG, seen=seen(RESULT)))[0] == "wrong"


def test_an_end_without_the_call_and_without_a_word_is_silent() -> None:
    assert judged(EXECUTES, run())[0] == "silent"
    assert judged(TELLS, run(text=""))[0] == "silent"


def test_a_part_of_the_calls_with_the_rest_told_is_right_where_only_that_part_is_whole() -> None:
    rest = replace(EXECUTES, right=("executes_rest",))
    assert judged(rest, run(LOG, seen=seen(RESULT, RESULT)))[0] == "right"
    assert judged(rest, run(LOG, seen=seen(RESULT)))[0] == "silent"


@pytest.mark.parametrize(
    ("kind", "verdict"), [("ProviderError", "right"), ("TypeError", "error"), ("timeout", "error")]
)
def test_only_an_error_that_was_raised_on_purpose_reports_a_failure(kind: str, verdict: str) -> None:
    assert judged(FAILS, run(text="", raised=Raised(kind, "")))[0] == verdict


def test_a_request_that_was_sent_again_and_answered_is_right_where_the_failure_may_pass() -> None:
    assert judged(FAILS, run())[0] == "right"
    assert judged(FAILS, run(text=""))[0] == "silent"


def test_an_answer_in_text_must_say_what_the_model_said() -> None:
    answers = replace(TELLS, right=("answers",), says="No ship is due.")
    assert judged(answers, run(text="No ship is due."))[0] == "right"
    assert judged(answers, run(text=""))[0] == "silent"
