"""The proxy asks again where the loop would, and only as often as it may."""

from __future__ import annotations

from typing import Any

import pytest

from tests.domain.proxy.asked import asked, build_upstream_request, call, whole
from toolreel_core._client_requests import ClientRequest
from toolreel_core._jsontext import parse
from toolreel_core._plan import Preset
from toolreel_core._protocol import ReplyReceived, RequestFailed
from toolreel_core._proxy import Again, Corrections, Extras, Profile

BUSY = RequestFailed(0, "status", "HTTP 503: busy", 503)
ALL = Extras(retries=1, recover_empty=True, correct_arguments=1)
WRONG = call("stock", '{"part": 4}')


def begun(
    extras: Extras = ALL, request: ClientRequest | None = None, profile: Profile | None = None
) -> Corrections | None:
    chosen, using = request or asked(), profile or Profile()
    return Corrections.of(chosen, using, extras, build_upstream_request(chosen, using).body)


def heard(message: dict[str, Any], finish: str = "stop") -> ReplyReceived:
    return ReplyReceived(0, 200, whole(message, finish))


def after(corrections: Corrections | None, event: ReplyReceived | RequestFailed) -> Again | None:
    assert corrections is not None
    return corrections.after(event)


def test_nothing_is_begun_where_nothing_may_be_added() -> None:
    assert begun(Extras()) is None
    assert begun(request=asked(n=2)) is None
    assert begun(request=asked({"role": "user", "content": [{"type": "hologram"}]})) is None
    assert begun(request=asked(response_format={"type": "text"}, model="")) is not None
    assert begun(profile=Profile.of(settings={"tool_use_mode": "enforced"}), request=asked(tools=())) is None
    tight = Profile.of(settings={"context_window_tokens": 10, "reserved_response_tokens": 9})
    assert begun(profile=tight) is None


def test_a_good_reply_goes_to_the_client() -> None:
    for message in ({"content": "Four."}, {"tool_calls": [call("stock", '{"part": "pin"}')]}):
        assert after(begun(), heard(message)) is None


def test_a_failure_that_may_pass_is_repeated_after_a_while() -> None:
    corrections = begun()
    again = after(corrections, BUSY)
    assert again is not None
    assert again.reason == "retry"
    assert again.wait_ms > 0
    assert parse(again.body) == parse(build_upstream_request(asked(), Profile()).body)
    assert after(corrections, BUSY) is None


def test_a_failure_that_will_not_pass_goes_to_the_client() -> None:
    assert after(begun(), RequestFailed(0, "status", "HTTP 401: no", 401)) is None


def test_the_model_is_asked_again_if_it_says_nothing() -> None:
    again = after(begun(), heard({"content": ""}))
    assert again is not None
    assert again.reason == "recover_empty"
    tree: Any = parse(again.body)
    assert [message["role"] for message in tree["messages"]] == ["user", "user"]
    assert after(begun(Extras(retries=1)), heard({"content": ""})) is None


def test_the_model_is_told_of_arguments_that_are_not_valid() -> None:
    corrections = begun()
    again = after(corrections, heard({"tool_calls": [WRONG]}, "tool_calls"))
    assert again is not None
    assert again.reason == "correct_arguments"
    tree: Any = parse(again.body)
    assert [message["role"] for message in tree["messages"]] == ["user", "assistant", "tool"]
    assert "tools" in tree
    assert after(corrections, heard({"tool_calls": [WRONG]}, "tool_calls")) is None


@pytest.mark.parametrize("extras", [Extras(retries=3), Extras(recover_empty=True)])
def test_only_what_was_allowed_is_added(extras: Extras) -> None:
    assert after(begun(extras), heard({"tool_calls": [WRONG]}, "tool_calls")) is None


@pytest.mark.parametrize("corrections", [0, 1])
def test_two_recoveries_leave_the_turns_of_corrections(corrections: int) -> None:
    begun_with = begun(Extras(recover_empty=True, correct_arguments=corrections))
    unread = {"content": '<tool_call>{"name": "stock", "arguments": {"part": }</tool_call>'}
    replies = (unread, {"content": ""}, {"tool_calls": [WRONG]}, {"tool_calls": [WRONG]})
    asked_again = [after(begun_with, heard(reply)) for reply in replies[: corrections + 3]]
    reasons = ["recover_empty", "recover_empty", *["correct_arguments"] * corrections, None]
    assert [again and again.reason for again in asked_again] == reasons


def test_the_upstream_is_asked_in_its_own_way() -> None:
    profile = Profile.of(Preset.of("mine", {"provider": {"max_tokens_field": "max_completion_tokens"}}))
    again = after(begun(request=asked(max_tokens=5), profile=profile), BUSY)
    assert again is not None
    tree: Any = parse(again.body)
    assert tree["max_completion_tokens"] == 5
