from __future__ import annotations

from typing import get_args

import pytest

from toolreel_core._jsontext import Json
from toolreel_core._replies import (
    PROBLEM_WORDS,
    Problem,
    ProblemCode,
    bare_error,
    error_in,
    failed_generation,
    in_list,
)


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        ("Overloaded.", Problem("PROVIDER_ERROR", "Overloaded.")),
        ({"message": "Overloaded.", "code": 502}, Problem("PROVIDER_ERROR", "Overloaded.", passing=True)),
        ({"message": "Down.", "code": "524"}, Problem("PROVIDER_ERROR", "Down.", passing=True)),
        ({"message": "Too slow.", "code": 408}, Problem("PROVIDER_ERROR", "Too slow.", passing=True)),
        ({"message": "Too slow.", "status": 503}, Problem("PROVIDER_ERROR", "Too slow.", passing=True)),
        ({"message": "Bad.", "code": 400}, Problem("PROVIDER_ERROR", "Bad.")),
        ({"message": "Odd.", "code": 600}, Problem("PROVIDER_ERROR", "Odd.")),
        ({"message": "Slow down.", "code": 429}, Problem("RATE_LIMITED", "Slow down.", passing=True)),
        ({"message": "Slow down.", "code": "429"}, Problem("RATE_LIMITED", "Slow down.", passing=True)),
        ({"message": "Slow.", "code": "rate_limit_exceeded"}, Problem("RATE_LIMITED", "Slow.", passing=True)),
        ({"message": "Slow.", "type": "rate_limit_error"}, Problem("RATE_LIMITED", "Slow.", passing=True)),
        ({"message": "", "detail": "Bad."}, Problem("PROVIDER_ERROR", "Bad.")),
        ({"code": 1234}, Problem("PROVIDER_ERROR", '{"code":1234}')),
        ({"code": [429]}, Problem("PROVIDER_ERROR", '{"code":[429]}')),
        ({"score": float("nan")}, Problem("PROVIDER_ERROR", '{"score":null}')),
        (["odd"], Problem("PROVIDER_ERROR", '["odd"]')),
        ([{"code": 429}], Problem("RATE_LIMITED", '[{"code":429}]', passing=True)),
        ({"error": {"code": 429}}, Problem("RATE_LIMITED", '{"error":{"code":429}}', passing=True)),
        (
            {"message": "Bad.", "error": [{"error": {"code": 503}}]},
            Problem("PROVIDER_ERROR", "Bad.", passing=True),
        ),
        (7, Problem("PROVIDER_ERROR", "7")),
    ],
)
def test_an_error_is_a_problem_in_the_providers_words(error: Json, problem: Problem) -> None:
    assert error_in({"error": error}) == problem


def test_an_object_that_says_it_is_an_error_is_one_whatever_else_it_holds() -> None:
    holder: dict[str, Json] = {"object": "error", "message": "Bad.", "choices": [{"message": {}}]}
    assert error_in(holder) == Problem("PROVIDER_ERROR", "Bad.")


@pytest.mark.parametrize("error", [None, "", {}, [], False, 0])
def test_an_empty_error_is_none(error: Json) -> None:
    assert error_in({"error": error}) is None


def test_an_error_without_words_is_told_by_what_stands_beside_it() -> None:
    beside: dict[str, Json] = {"error": True, "message": "Slow down.", "status": 429}
    assert error_in(beside) == Problem("RATE_LIMITED", "Slow down.", passing=True)
    assert error_in({"error": "Slow down.", "code": 429}) == Problem(
        "RATE_LIMITED", "Slow down.", passing=True
    )


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"message": "Unauthorized", "request_id": "r"}, Problem("PROVIDER_ERROR", "Unauthorized")),
        ({"detail": "Not Found"}, Problem("PROVIDER_ERROR", "Not Found")),
        ({"detail": [{"msg": "x"}]}, Problem("PROVIDER_ERROR", '{"detail":[{"msg":"x"}]}')),
        ({"object": "error", "code": 429}, Problem("RATE_LIMITED", '{"object":"error","code":429}', True)),
        ({"type": "error", "message": "Bad."}, Problem("PROVIDER_ERROR", "Bad.")),
        ({"title": "Bad.", "statusCode": 500}, Problem("PROVIDER_ERROR", "Bad.", True)),
        (
            {"detail": {"error": {"code": 429}}},
            Problem("RATE_LIMITED", '{"detail":{"error":{"code":429}}}', True),
        ),
        ({"error_msg": "Bad.", "error_code": 500}, Problem("PROVIDER_ERROR", "Bad.", True)),
        ({"errors": [{"message": "Bad.", "code": 429}]}, Problem("RATE_LIMITED", "Bad.", True)),
        ({"errors": {"message": "Bad."}}, Problem("PROVIDER_ERROR", "Bad.")),
        ({"errors": "Bad."}, Problem("PROVIDER_ERROR", "Bad.")),
    ],
)
def test_an_error_needs_no_error_field(body: dict[str, Json], problem: Problem) -> None:
    assert bare_error(body) == problem


@pytest.mark.parametrize(
    "body",
    [{}, {"id": "g"}, {"message": ""}, {"message": {}}, {"detail": None}, {"errors": []}, {"errors": True}],
)
def test_a_body_without_words_is_no_error(body: dict[str, Json]) -> None:
    assert bare_error(body) is None


def test_a_list_of_errors_is_told_by_its_first() -> None:
    assert in_list([7, {}, {"error": {"code": 400, "message": "Bad."}}, {"error": "Worse."}]) == Problem(
        "PROVIDER_ERROR", "Bad."
    )
    assert in_list([{"message": "Bad."}]) == Problem("PROVIDER_ERROR", "Bad.")
    assert in_list(["odd"]) is None


def test_what_a_model_wrote_is_taken_from_the_refusal_of_its_server() -> None:
    refused = '{"error": {"code": "tool_use_failed", "failed_generation": "<function=ping>{}"}}'
    assert failed_generation(refused) == "<function=ping>{}"


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<html>",
        "[]",
        '{"error": "tool_use_failed"}',
        '{"error": {"code": "tool_use_failed"}}',
        '{"error": {"failed_generation": 7}}',
    ],
)
def test_any_other_refusal_holds_no_turn_of_the_model(body: str) -> None:
    assert failed_generation(body) is None


def test_every_problem_has_its_words() -> None:
    assert [*PROBLEM_WORDS] == [*get_args(ProblemCode)]
    assert len({*PROBLEM_WORDS.values()}) == len(PROBLEM_WORDS)
