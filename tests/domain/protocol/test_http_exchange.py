"""The event for a response, whichever client received it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import worked
from toolreel_core._protocol import ReplyReceived, RequestFailed, response_event, retry_after_ms


def test_bytes_that_are_no_utf_8_are_replaced() -> None:
    assert response_event(1, 200, {}, b"caf\xe9") == ReplyReceived(1, 200, "caf\ufffd")


@pytest.mark.parametrize("status", [100, 199, 300, 404, 500])
def test_any_other_status_is_a_failure(status: int) -> None:
    assert response_event(4, status, {}, b"why") == RequestFailed(
        4, "status", f"HTTP {status}: why", status, "why"
    )


@pytest.mark.parametrize(
    "body", ['{"error":{"message":"%s"}}', '{"error":"%s"}', '{"message":"%s"}', '{"detail":"%s"}', "%s"]
)
def test_a_long_complaint_is_cut_in_the_message_and_whole_in_the_body(body: str) -> None:
    text = body % ("x" * 1_000)
    event = response_event(1, 500, {}, text.encode())
    assert event == RequestFailed(1, "status", f"HTTP 500: {'x' * 300}", 500, text)


@pytest.mark.parametrize(
    "body", ['{"error":{"message":7}}', '{"detail":[{"msg":"too short"}]}', "[1]", "null"]
)
def test_a_complaint_in_an_unknown_shape_is_shown_as_it_is(body: str) -> None:
    assert response_event(1, 422, {}, body.encode()) == RequestFailed(
        1, "status", f"HTTP 422: {body}", 422, body
    )


@pytest.mark.parametrize(("headers", "ms"), worked("a server may ask to be left alone", "runs-and-plans"))
def test_a_server_may_ask_to_be_left_alone(headers: dict[str, str], ms: int | None) -> None:
    assert retry_after_ms(headers) == ms


def test_a_date_is_read_in_english_under_any_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calendar.month_abbr", [*"?ABCDEFGHIJKL"])
    monkeypatch.setattr("_strptime._getlang", lambda: ("xx_XX", "UTF-8"))  # else it keeps what it has read
    headers = {"retry-after": "Wed, 21 Oct 2026 07:28:10 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}
    assert retry_after_ms(headers) == 10_000


NUMBERS = st.one_of(st.integers(-1, 70), st.integers(), st.integers(10**12, 10**24)).map(str)
DATES = st.builds(
    "{} {} {} {}:{}:{} {}".format,
    NUMBERS,
    st.sampled_from(["Jan", "Feb", "Dec", "13", ""]),
    NUMBERS,
    NUMBERS,
    NUMBERS,
    NUMBERS,
    st.one_of(st.sampled_from(["GMT", "+9999", "-0000", ""]), NUMBERS),
)
VALUES = st.one_of(st.text(), st.binary().map(lambda value: value.decode("latin-1")), NUMBERS, DATES)


@given(st.fixed_dictionaries({"retry-after": VALUES, "date": VALUES}))
def test_no_header_raises(headers: dict[str, str]) -> None:
    ms = retry_after_ms(headers)
    assert ms is None or ms >= 0
    failed = response_event(1, 429, headers, b"slow down")
    assert failed == RequestFailed(1, "status", "HTTP 429: slow down", 429, "slow down", ms)
