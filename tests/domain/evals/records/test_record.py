from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from toolreel_core._errors import CodecError
from toolreel_core._jsontext import canonical
from toolreel_core.evals import (
    Attempt,
    Cell,
    Record,
    SentRequest,
    ToolResult,
    Verdict,
    record_line,
    record_of,
    record_tree,
)

CELL = Cell("vendor/model:nitro", "default", "raw", "happy_path")
PASSED = Record(
    key="ab" * 32,
    cell=CELL,
    trial=1,
    version=1,
    configuration=canonical({"config": {"max_turns": 4}}),
    digest="cd" * 32,
    tools_sent=True,
    verdict=Verdict("pass"),
    loop="completed",
    final="Done.",
    world={"draft": {"foo": "bar"}},
    turns=3,
    calls=2,
    attempts=(
        Attempt(
            1200,
            Verdict("pass"),
            (SentRequest(1, 400, 200, finish="tool_calls", prompt_tokens=9),),
            results=(ToolResult("stock", canonical({"part": "pin"}), "3"),),
        ),
    ),
)
VOID = Verdict("void", "transport.rate_limit", ("the server said 429",))
FAILED = replace(
    PASSED,
    key="ef" * 32,
    trial=2,
    configuration=canonical({}),
    verdict=VOID,
    loop="transport",
    final="",
    world=None,
    turns=1,
    calls=0,
    attempts=(
        Attempt(
            30,
            VOID,
            (
                SentRequest(1, 10, 429, failure="status"),
                SentRequest(
                    1,
                    20,
                    None,
                    "timeout",
                    "stop",
                    1,
                    2,
                    3,
                    cost=0.0,
                    model="m",
                    provider="p",
                    fingerprint="f",
                    request_id="r",
                ),
            ),
        ),
    ),
    error_status=429,
    error_body={"error": {"message": "slow down"}},
    error_hint="p: slow down",
    cassette="cassettes/m/raw/x.yaml",
)


PLACED = replace(
    PASSED,
    cell=replace(CELL, endpoint="here"),
    attempts=(replace(PASSED.attempts[0], base_url="https://here.test"),),
)


@pytest.mark.parametrize("record", [PASSED, FAILED, PLACED])
def test_a_record_comes_back_from_its_line(record: Record) -> None:
    line = record_line(record)
    assert "\n" not in line
    assert record_of(line) == record
    assert record_line(record_of(line)) == line


def test_a_line_leaves_out_what_says_nothing_but_keeps_a_cost_of_zero() -> None:
    assert not {"error_status", "endpoint"} & {*record_tree(PASSED)}
    assert "base_url" not in record_line(PASSED)
    placed: Any = record_tree(PLACED)
    assert (placed["endpoint"], placed["attempts"][0]["base_url"]) == ("here", "https://here.test")
    tree: Any = json.loads(record_line(FAILED))
    assert tree["attempts"][0]["asked"][0] == {"turn": 1, "ms": 10, "status": 429, "failure": "status"}
    assert tree["attempts"][0]["asked"][1]["cost"] == 0.0


def broken(record: Record, /, **changes: object) -> str:
    tree: Any = json.loads(record_line(record))
    return json.dumps({key: value for key, value in (tree | changes).items() if value != "gone"})


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "line 3: not a record"),
        ("[1]", "line 3: expected an object, got [1]"),
        (broken(PASSED, record=2), "line 3: of version 2; this toolreel reads version 1"),
        (broken(PASSED, trail=1), "line 3: there is no field 'trail'; did you mean 'trial'?"),
        (broken(PASSED, key="gone"), "line 3: key is missing"),
        (broken(PASSED, key=7), "line 3.key: expected str, got 7"),
        (broken(PASSED, trial=-1), "line 3.trial: expected a number of at least 0, got -1"),
        (broken(PASSED, result="passed"), "line 3.result: expected one of pass, pass_unexercised"),
        (broken(PASSED, reasons="why"), 'line 3.reasons: expected a list, got "why"'),
        (broken(PASSED, world="gone"), "line 3: world is missing"),
        (broken(PASSED, configuration=[]), "configuration: expected canonical JSON text, got []"),
        (broken(PASSED, attempts=3), "line 3.attempts: expected a list, got 3"),
        (broken(PASSED, attempts=[3]), "line 3.attempts[0]: expected an object, got 3"),
        (
            broken(PASSED, attempts=[{"ms": 1, "result": "pass", "asked": [], "why": 1}]),
            "there is no field 'why'",
        ),
        (
            broken(
                PASSED,
                attempts=[
                    {
                        "ms": 1,
                        "result": "pass",
                        "asked": [{"turn": 1, "ms": 1, "status": 200, "cost": "x" * 90}],
                    }
                ],
            ),
            'line 3.attempts[0].asked[0].cost: expected float, got "xxx',
        ),
    ],
)
def test_a_line_that_is_no_record_is_refused_with_its_place(line: str, complaint: str) -> None:
    with pytest.raises(CodecError) as caught:
        record_of(line, "line 3")
    assert complaint in str(caught.value)
