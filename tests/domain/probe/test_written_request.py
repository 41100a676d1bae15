"""A request that is sent as it stands."""

from __future__ import annotations

from toolreel_core._probe import WrittenRequest


def test_the_body_is_what_was_written() -> None:
    request = WrittenRequest.of({"model": "m", "messages": "none"}, "messages")
    assert (request.body, request.form, request.streamed) == (
        '{"model":"m","messages":"none"}',
        "messages",
        False,
    )
    assert WrittenRequest.of({"stream": True}).streamed
