"""One sample over HTTP, to its record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.evals.evaluations import KEY, Seen, evaluated, plan_of, records
from tests.patience import NEVER
from tests.servers.chat_server import Answer, replying, serving
from toolreel.evals import Results, plan_of_header, replay_runs
from toolreel_core._jsontext import Json
from toolreel_core.evals import SentRequest


def done(text: str = "Done.", /, **further: Json) -> Answer:
    message: Json = {"role": "assistant", "content": text}
    return replying({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **further})


RATE_LIMITED = replying({"error": {"message": "Slow down."}}, 429)
DOWN = replying({"error": {"message": "Down for the moment."}}, 503)
CUT = Answer(b'{"choices": [', promised=500)
SILENT = Answer(delay=NEVER)


def chat(out: Path, *script: Answer, pauses: list[float] | None = None, **tables: Any) -> Any:  # noqa: ANN401
    """The record of one chat with a provider that answers so."""
    usual: dict[str, Any] = {"eval": {"add_models": ["m"], "scenarios": ["chat_only"], "trials": 1}}
    usual |= {"loop": {"max_tries": 1}, "endpoint": {"read_timeout": 0.3}}
    with serving(*script) as server:
        for table, changes in tables.items():
            usual[table] = {**usual.get(table, {}), **changes}
        evaluated(plan_of(server.url, **usual), out, pauses=pauses)
    (tree,) = records(out).values()
    results = Results.open(out)
    (again,) = replay_runs(results, plan_of_header(results.header))
    assert again.drift == "", "a replay comes to the same"
    return tree


def test_all_that_a_provider_tells_stands_in_the_record(tmp_path: Path) -> None:
    usage: Json = {
        "prompt_tokens": 31,
        "completion_tokens": 7,
        "total_tokens": 38,
        "cost": 0.25,
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    served: dict[str, Json] = {
        "model": "m-2026",
        "provider": "Acme",
        "system_fingerprint": "fp_1",
        "id": "gen-1",
    }
    tree = chat(tmp_path, done(usage=usage, **served))
    assert tree["result"] == "pass"
    (attempt,) = tree["attempts"]
    assert attempt["asked"] == [
        {
            "turn": 1,
            "ms": 0,
            "status": 200,
            "finish": "stop",
            "prompt_tokens": 31,
            "completion_tokens": 7,
            "reasoning_tokens": 5,
            "cost": 0.25,
            "model": "m-2026",
            "provider": "Acme",
            "fingerprint": "fp_1",
            "request_id": "gen-1",
        }
    ]
    assert {*attempt["asked"][0]} | {"failure"} == {*SentRequest.__dataclass_fields__}, "every field is tried"


@pytest.mark.parametrize(("usage", "cost"), [({}, None), ({"cost": 0}, 0.0)])
def test_a_cost_that_nobody_told_is_unknown_and_not_zero(
    usage: dict[str, Json], cost: float | None, tmp_path: Path
) -> None:
    tree = chat(tmp_path, done(usage=usage))
    assert tree["attempts"][0]["asked"][0].get("cost") == cost


def test_a_provider_that_fails_for_the_moment_is_asked_again_after_a_while(tmp_path: Path) -> None:
    pauses: list[float] = []
    slow = Answer(RATE_LIMITED.body, 429, {"retry-after": "7"})
    script = (slow, DOWN, CUT, SILENT, done())
    tree = chat(tmp_path, *script, pauses=pauses, eval={"void_retries": 4})
    assert tree["result"] == "pass"
    attempts = tree["attempts"]
    assert [(each.get("category"), each["asked"][0].get("failure")) for each in attempts] == [
        ("transport.rate_limit", "status"),
        ("transport.upstream_5xx", "status"),
        ("transport.decode", "broken"),
        ("transport.timeout", "timeout"),
        (None, None),
    ]
    assert [each["asked"][0]["status"] for each in attempts] == [429, 503, None, None, 200]
    assert pauses == [7, 2, 4, 8], "as long as the server asks for, and longer each time"


def test_when_no_retry_is_left_the_run_is_void_and_keeps_what_the_provider_said(tmp_path: Path) -> None:
    error: Json = {"message": "Provider returned error", "metadata": {"provider_name": "Acme", "raw": "busy"}}
    tree = chat(tmp_path, RATE_LIMITED, replying({"error": error}, 503), eval={"void_retries": 1})
    assert (tree["result"], tree["category"]) == ("void", "transport.upstream_5xx")
    assert tree["error_status"] == 503
    assert tree["error_body"] == {"error": error}
    assert tree["error_hint"] == "Acme: busy"


@pytest.mark.parametrize(("last", "result"), [("Done.", "pass"), ("", "fail")])
def test_a_silent_model_is_asked_once_more_and_outages_are_counted_apart(
    last: str, result: str, tmp_path: Path
) -> None:
    once = {"void_retries": 1, "empty_response_retries": 1}
    tree = chat(tmp_path, done(""), DOWN, done(last), eval=once, loop={"fix_empty_final": False})
    assert [each["result"] for each in tree["attempts"]] == ["fail", "void", result]


def test_a_long_error_is_kept_in_part(tmp_path: Path) -> None:
    tree = chat(tmp_path, Answer(b"x" * 30_000, 500), eval={"void_retries": 0})
    assert tree["error_body"] == "x" * 20_000


@pytest.mark.parametrize("said_back", ["own", "foreign"])
def test_no_record_holds_a_secret_that_a_server_says(said_back: str, tmp_path: Path) -> None:
    """The key that was sent is masked in the reply; with one that nobody knows of, the texts are withheld."""
    key = KEY if said_back == "own" else "sk-or-v1-" + "0c8ad15f" * 8
    with serving(replying({"error": {"message": f"Incorrect API key provided: {key}"}}, 401)) as server:
        plan = plan_of(server.url, eval={"add_models": ["m"], "scenarios": ["chat_only"], "trials": 1})
        seen = Seen()
        outcome = evaluated(plan, tmp_path, seen)
    assert (outcome.void, len(outcome.without_cassette)) == (1, int(said_back == "foreign"))
    (tree,) = records(tmp_path).values()
    assert (tree["category"], tree["error_status"]) == ("transport.auth", 401)
    words = (
        "[value of the header authorization]"
        if said_back == "own"
        else "(withheld: this run's texts held a secret)"
    )
    assert words in str(tree["error_body"])
    assert [words in reason for one in seen.ran for reason in one.verdict.reasons] == [True]
    assert not any(key in path.read_text() for path in tmp_path.rglob("*") if path.is_file())
