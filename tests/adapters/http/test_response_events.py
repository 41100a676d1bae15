from __future__ import annotations

import httpx
import pytest

from toolreel.http import Stalled, TooLarge, UndecodableBody, failure_event
from toolreel_core._protocol import FailureKind, RequestFailed


def test_a_body_that_was_not_taken_in_keeps_its_status() -> None:
    assert TooLarge("too much").event(1, 200) == RequestFailed(1, "too_large", "too much", 200)
    assert Stalled("no word").event(1, 200) == RequestFailed(1, "timeout", "no word", 200)
    assert UndecodableBody("corrupt").event(1, 502) == RequestFailed(1, "broken", "corrupt", 502)


@pytest.mark.parametrize(
    ("error", "failure", "message"),
    [
        (httpx.ConnectError("refused"), "connect", "ConnectError: refused"),
        (httpx.ConnectTimeout("slow"), "connect", "ConnectTimeout: slow"),
        (httpx.ReadTimeout("slow"), "timeout", "ReadTimeout: slow"),
        (httpx.WriteTimeout("slow"), "timeout", "WriteTimeout: slow"),
        (httpx.PoolTimeout(""), "timeout", "PoolTimeout"),
        (httpx.ReadError(""), "broken", "ReadError"),
        (httpx.RemoteProtocolError("no HTTP"), "broken", "RemoteProtocolError: no HTTP"),
        (httpx.ProxyError("502"), "broken", "ProxyError: 502"),
    ],
)
def test_an_exchange_that_was_given_up_says_of_what_kind(
    error: httpx.HTTPError, failure: FailureKind, message: str
) -> None:
    assert failure_event(9, error) == RequestFailed(9, failure, message)
