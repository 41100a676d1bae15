from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel_core._jsontext import Json, canonical
from toolreel_core.evals import (
    CATEGORIES,
    alias_of,
    category,
    of_status,
    provider_hint,
)

REFERENCE = {
    *("AUTH", "PAYMENT_REQUIRED", "FORBIDDEN", "NOT_FOUND", "RATE_LIMIT", "TIMEOUT", "CONNECTION_ERROR"),
    *("UPSTREAM_5XX", "DECODE_ERROR", "NO_TOOL_USE_ENDPOINT", "EMPTY_ASSISTANT_TEXT", "ASSERTION_FAILED"),
    *("NO_TOOL_CALLS", "TOOL_ERROR", "CONFLICT", "REQUEST_TOO_LARGE", "UNPROCESSABLE"),
    *("HTTP_n", "EXCEPTION"),
}


def test_every_name_of_the_reference_but_that_of_its_language_axis_stays_available() -> None:
    assert {one.alias for one in CATEGORIES.values()} == REFERENCE | {""}


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


JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "metadata", "raw", "message", "provider_name"]), inner, max_size=3
        )
    ),
)


def of(raw: Json, name: Json = "Acme") -> Json:
    return {"error": {"metadata": {"provider_name": name, "raw": raw}}}


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (of('{"error":{"message":"No."}}'), "Acme: No."),
        (of({"error": {"message": "No."}}), "Acme: No."),
        (of('{"message":"Top."}'), "Acme: Top."),
        (of('{"error":"Bare."}'), "Acme: Bare."),
        (of('{"code":7}'), 'Acme: {"code":7}'),
        (of('"quoted"'), 'Acme: "quoted"'),
        (of("plain words"), "Acme: plain words"),
        (of("[1]"), "Acme: [1]"),
        (of(None), "Acme"),
        (of(7), "Acme"),
        (of("No.", name=7), "No."),
        (of("", name=" "), ""),
        (canonical(of("No.")), "Acme: No."),
        ({"error": "No."}, ""),
        ("<html>", ""),
        (None, ""),
        ([], ""),
    ],
)
def test_a_hint_is_provider_and_message_as_far_as_they_are_there(body: Json, hint: str) -> None:
    assert provider_hint(body) == hint


@given(JSON)
def test_any_body_has_a_hint(body: Json) -> None:
    assert isinstance(provider_hint(body), str)
    assert isinstance(provider_hint(of(body)), str)
