from __future__ import annotations

from typing import get_args

import pytest

from toolreel_core.evals._verdicts.failure_taxonomy import CATEGORIES, Family, alias_of, category, of_status

REFERENCE = {
    *("AUTH", "PAYMENT_REQUIRED", "FORBIDDEN", "NOT_FOUND", "RATE_LIMIT", "TIMEOUT", "CONNECTION_ERROR"),
    *("UPSTREAM_5XX", "DECODE_ERROR", "NO_TOOL_USE_ENDPOINT", "EMPTY_ASSISTANT_TEXT", "ASSERTION_FAILED"),
    *("LANGUAGE_DRIFT", "NO_TOOL_CALLS", "TOOL_ERROR", "CONFLICT", "REQUEST_TOO_LARGE", "UNPROCESSABLE"),
    *("HTTP_n", "EXCEPTION"),
}


def test_every_name_of_the_reference_stays_available() -> None:
    assert {one.alias for one in CATEGORIES.values()} == REFERENCE | {""}


def test_categories_are_named_by_family_and_in_their_order() -> None:
    families = [one.family for one in CATEGORIES.values()]
    assert families == sorted(families, key=get_args(Family).index)
    assert all(name == one.name for name, one in CATEGORIES.items())


def test_a_check_is_named_after_its_category() -> None:
    assert category("task.outcome:draft") is CATEGORIES["task.outcome"]
    with pytest.raises(
        LookupError, match=r"there is no category 'loop.max_turn'; did you mean 'loop.max_turns'"
    ):
        category("loop.max_turn")


@pytest.mark.parametrize(
    ("status", "alias"),
    [
        (401, "AUTH"),
        (402, "PAYMENT_REQUIRED"),
        (403, "FORBIDDEN"),
        (404, "NOT_FOUND"),
        (408, "TIMEOUT"),
        (409, "CONFLICT"),
        (413, "REQUEST_TOO_LARGE"),
        (422, "UNPROCESSABLE"),
        (429, "RATE_LIMIT"),
        (500, "UPSTREAM_5XX"),
        (599, "UPSTREAM_5XX"),
        (418, "HTTP_418"),
        (None, "EXCEPTION"),
    ],
)
def test_a_status_has_the_references_name(status: int | None, alias: str) -> None:
    assert alias_of(of_status(status), status) == alias


def test_other_categories_have_an_alias_of_their_own() -> None:
    assert alias_of("") == ""
    assert alias_of("task.outcome:draft") == "ASSERTION_FAILED"
    assert alias_of("task.exercise:looked") == ""
    assert alias_of("wire.history_refused", 400) == "HTTP_400"
    assert alias_of("wire.history_refused", 413) == "REQUEST_TOO_LARGE"
