from __future__ import annotations

from typing import Any

import pytest

from tests.evals.made import CELL
from toolreel_core.evals._records.request_content import (
    ContentMessage,
    Divergence,
    DivergenceKind,
    Fate,
    RequestContent,
    WhatIf,
    WhatIfTally,
    first_divergence,
    request_content,
)
from toolreel_core.evals._statistics.counts import Pairs
from toolreel_core.evals._verdicts.verdict import Verdict

SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "What is the status?"}
FINAL = {"role": "assistant", "content": "It is a draft."}


def calling(name: str = "get", arguments: str = "{}", id: str = "c1", **more: object) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "tool_calls": [{"id": id, "type": "function", "function": function}], **more}


def result(text: str = "draft", id: str = "c1", **more: object) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": text, **more}


def request(*messages: object, tools: tuple[str, ...] = ("get",), **options: object) -> dict[str, Any]:
    content = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in tools]
    return {"messages": [*messages], "tools": content, **options}


def parted(recorded: dict[str, Any] | None, asked: dict[str, Any]) -> Divergence:
    return first_divergence(None if recorded is None else request_content(recorded), request_content(asked))


@pytest.mark.parametrize(
    "other",
    [
        request(SYSTEM, USER, calling(), result(), temperature=1, parallel_tool_calls=False),
        request(SYSTEM, USER, calling(id="call_9"), result(id="call_9")),
        request(SYSTEM, USER, calling(content=None, reasoning_content="Hm."), result(name="get")),
        request(SYSTEM, USER, calling(content="Let me see."), result()),
        request({**SYSTEM, "role": "developer"}, USER, calling(arguments=" { } "), result()),
        request(
            SYSTEM,
            {"role": "user", "content": [{"type": "text", "text": "What is the status?"}]},
            {"role": "assistant", "content": ""},
            calling(),
            result(),
        ),
    ],
)
def test_the_same_conversation_may_be_written_in_other_ways(other: dict[str, Any]) -> None:
    assert request_content(other) == request_content(request(SYSTEM, USER, calling(), result()))


def test_a_result_belongs_to_a_call_by_its_place() -> None:
    two = {
        "role": "assistant",
        "tool_calls": [*calling(id="a")["tool_calls"], *calling("put", id="b")["tool_calls"]],
    }
    content = request_content(request(two, result("x", "b"), result("y", "a"), result("z", "strange")))
    assert [one.answers for one in content.messages] == [0, 2, 1, 0]


def test_what_is_no_request_tells_nothing() -> None:
    assert request_content({"messages": "hello", "tools": [1, {"function": 2}]}) == RequestContent(("",), ())
    assert request_content({"messages": [calling(arguments="{a")]}).messages == (
        ContentMessage("assistant", calls=(("get", "{a"),)),
    )


def test_tools_that_must_not_be_called_are_no_tools() -> None:
    assert request_content(request(USER, tool_choice="none")).tools == ()


@pytest.mark.parametrize(
    ("recorded", "asked", "kind", "what"),
    [
        (
            request(USER),
            request({"role": "user", "content": "x" * 100}),
            "opening",
            f'begins with "{"x" * 80}…", and began with "What is the status?"',
        ),
        (
            request(USER),
            request(USER, calling(), result()),
            "calls",
            "hears get({}), where there was nothing more",
        ),
        (
            request(USER, calling("put"), result()),
            request(USER, calling(), result()),
            "calls",
            "hears get({}), where there was put({})",
        ),
        (
            request(USER, calling(), result("draft")),
            request(USER, calling(), result("an error")),
            "result",
            'a call comes to "an error", and came to "draft"',
        ),
        (
            request(USER),
            request(USER, FINAL, {"role": "user", "content": "Call a tool."}),
            "nudge",
            'tells the model "Call a tool.", where there was nothing more',
        ),
        (
            request(USER),
            request(USER, {"role": "user", "content": "Say it."}),
            "nudge",
            'tells the model "Say it.", where there was nothing more',
        ),
        (
            request(USER, calling(), result()),
            request(USER, FINAL, {"role": "user", "content": "Call a tool."}),
            "nudge",
            'tells the model "Call a tool.", where there was get({})',
        ),
        (
            request(USER, FINAL, {"role": "user", "content": "Call a tool."}),
            request(USER, FINAL, {"role": "user", "content": "Say it."}),
            "nudge",
            'tells the model "Say it.", where there was "Call a tool."',
        ),
        (request(USER), request(USER, tools=()), "tools", "is told of no tools, and was of get"),
        (request(USER), request(USER), "again", "asks once more for what has been answered"),
        (
            request(USER, calling(), result()),
            request(USER),
            "again",
            "asks once more for what has been answered",
        ),
        (None, request(USER), "nudge", 'tells the model "What is the status?", where there was nothing more'),
        (None, request(), "again", "asks once more for what has been answered"),
    ],
)
def test_where_two_tales_part(
    recorded: dict[str, Any] | None, asked: dict[str, Any], kind: DivergenceKind, what: str
) -> None:
    assert parted(recorded, asked) == Divergence(kind, what)


PASS, FAIL = Verdict("pass"), Verdict("fail", "task.outcome:draft")
VOID = Verdict("void", "transport.rate_limit")
NUDGED = Divergence("nudge", "tells the model more")


def run(was: Verdict | None = FAIL, now: Verdict | None = None, turn: int = 0, why: str = "") -> WhatIf:
    return WhatIf("k", CELL, 1, "production", was, now, NUDGED if turn else None, turn, why)


@pytest.mark.parametrize(
    ("one", "fate"),
    [
        (run(FAIL, PASS), "recovery"),
        (run(PASS, FAIL), "loss"),
        (run(PASS, Verdict("pass_unexercised")), "unchanged"),
        (run(FAIL, turn=2), "diverged"),
        (run(FAIL, PASS, turn=2), "recovery"),
        (run(FAIL, why="not recorded"), "undecided"),
        (run(None, PASS), "undecided"),
        (run(VOID, PASS), "undecided"),
        (run(PASS, VOID), "undecided"),
    ],
)
def test_each_run_has_one_fate(one: WhatIf, fate: Fate) -> None:
    assert one.fate == fate
    assert WhatIfTally((one,)).of(fate) == (one,)


def test_only_decided_runs_are_pairs() -> None:
    tally = WhatIfTally(
        (run(FAIL, PASS), run(PASS, PASS), run(PASS, FAIL), run(), run(VOID, PASS), run(FAIL, FAIL))
    )
    assert tally.pairs == Pairs(both=1, lost=1, gained=1, neither=1)


def test_divergences_are_counted_turn_by_turn() -> None:
    tally = WhatIfTally((run(turn=3), run(turn=2), run(FAIL, PASS, turn=3), run(FAIL, FAIL)))
    assert tally.divergences == {(2, "nudge"): 1, (3, "nudge"): 2}
    assert [*tally.divergences] == [(2, "nudge"), (3, "nudge")]


def test_what_is_undecided_says_why() -> None:
    assert run(why="not recorded").reason == "not recorded"
    assert run(VOID, PASS).reason == "the recorded run is void: transport.rate_limit"
    assert run(PASS, VOID).reason == "under production it is void: transport.rate_limit"
    assert run(FAIL, turn=1).reason == ""
