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


RAN = run(LOG, seen=seen(RESULT))
TOLD = run(seen=seen(RESULT))
REFUSED = seen(RESULT, refused=("call id ''",))
PART = replace(EXECUTES, right=("executes_rest",))
ANSWERS = replace(TELLS, right=("answers",), says="No ship is due.")
LOST = replace(EXECUTES, calls=(Call("log_entry", {"text": "\ufffd"}),))


@pytest.mark.parametrize(
    ("shape", "ran", "verdict"),
    [
        (EXECUTES, RAN, "right"),
        (EXECUTES, run(LOG, LOG, raised=Raised("Error", "late")), "wrong"),
        (EXECUTES, run(Call("log_entry", {"title": "Fog", "text": "Thin."})), "wrong"),
        # Half a surrogate pair may be replaced or handed over.
        (LOST, run(Call("log_entry", {"text": "\ud83d"})), "right"),
        # The provider refuses the history.
        (EXECUTES, run(LOG, raised=Raised("BadRequest", "400"), seen=REFUSED), "error"),
        (EXECUTES, run(LOG, seen=REFUSED), "silent"),
        # Telling the model is second best where the call could run, and right where it must not.
        (EXECUTES, TOLD, "told"),
        (TELLS, TOLD, "right"),
        (TELLS, RAN, "wrong"),
        (EXECUTES, run(), "silent"),
        (TELLS, run(text=""), "silent"),
        # Only a part of the calls is whole.
        (PART, run(LOG, seen=seen(RESULT, RESULT)), "right"),
        (PART, RAN, "silent"),
        # Only an error that was raised on purpose reports a failure.
        (FAILS, run(text="", raised=Raised("ProviderError", "")), "right"),
        (FAILS, run(text="", raised=Raised("TypeError", "")), "error"),
        (FAILS, run(text="", raised=Raised("timeout", "")), "error"),
        # It was asked again, and answered.
        (FAILS, run(), "right"),
        (FAILS, run(text=""), "silent"),
        (ANSWERS, run(text="No ship is due."), "right"),
        (ANSWERS, run(text=""), "silent"),
    ],
)
def test_a_run_gets_its_verdict(shape: Shape, ran: Run, verdict: str) -> None:
    assert judged(shape, ran)[0] == verdict


def test_a_verdict_says_what_ran() -> None:
    twice = run(LOG, LOG)
    assert judged(EXECUTES, twice) == ("wrong", 'ran log_entry {"title": "Fog", "text": "Thick."}')
