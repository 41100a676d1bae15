from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import printed_under
from toolreel_core._loop.retries import delay_ms, refuses_tools, retryable
from toolreel_core._protocol.events import RequestFailed
from toolreel_core._protocol.outcome import FailureKind
from toolreel_core._settings.config import LoopConfig


@pytest.mark.parametrize("failure", get_args(FailureKind))
def test_what_happens_on_the_way_may_pass_and_a_body_that_is_too_large_does_not(failure: FailureKind) -> None:
    expected = failure in {"connect", "timeout", "broken"}
    assert retryable(RequestFailed(1, failure, "no luck")) is expected


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 520, 524, 529, 599])
def test_a_server_that_is_busy_or_down_may_be_asked_again(status: int) -> None:
    assert retryable(RequestFailed(1, "status", "no luck", status))


@pytest.mark.parametrize("status", [None, 300, 400, 401, 402, 403, 404, 409, 413, 422, 600])
def test_a_server_that_means_it_is_not_asked_again(status: int | None) -> None:
    assert not retryable(RequestFailed(1, "status", "no luck", status))


@pytest.mark.parametrize("status", [400, 404, 422])
@pytest.mark.parametrize(
    ("message", "body"),
    [
        ("HTTP 404: No endpoints found that support tool use. Try disabling 'x'.", ""),
        ("HTTP 400: registry.ollama.ai/library/gemma:latest does not support tools", ""),
        ("HTTP 400: Provider returned error", '{"error":{"metadata":{"raw":"does not support tools"}}}'),
        ("HTTP 400: Invalid value for tool_choice: only 'auto' is supported", ""),
        ('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', ""),
        ("HTTP 400: named tool choice requires --tool-call-parser to be set", ""),
        ("HTTP 400: This model doesn't support tool use in streaming mode.", ""),
        ("HTTP 400: deepseek-reasoner does not support Function Calling", ""),
        ("HTTP 400: Provider returned error", '{"raw":"model features function calling not support"}'),
        ("HTTP 400: tools is not supported in this model.", ""),
        ("HTTP 400: The tool call is not supported.", ""),
        ("HTTP 400: Function call is not supported for this model.", ""),
        ("HTTP 400: tools param requires --jinja flag", ""),
    ],
)
def test_a_server_that_takes_no_tools_says_so_in_many_words(status: int, message: str, body: str) -> None:
    assert refuses_tools(RequestFailed(1, "status", message, status, body))


@pytest.mark.parametrize(
    "message",
    [
        "HTTP 500: tools param requires --jinja flag",
        "HTTP 500: Unsupported param: tools",
        "HTTP 500: Internal server error: Unsupported tool_call_parser: None",
    ],
)
def test_a_server_that_was_started_without_tools_says_so_as_if_it_had_failed(message: str) -> None:
    assert refuses_tools(RequestFailed(1, "status", message, 500))
    assert not refuses_tools(RequestFailed(1, "status", message, 503))


@pytest.mark.parametrize(
    "failed",
    [
        RequestFailed(1, "status", "HTTP 400: messages: expected a list", 400),
        RequestFailed(1, "status", "HTTP 400: This model's maximum context length is 4096 tokens.", 400),
        RequestFailed(1, "status", "HTTP 422: bad", 422, '{"detail":[{"input":{"tool_choice":"auto"}}]}'),
        RequestFailed(1, "status", "HTTP 401: tools are not supported", 401),
        RequestFailed(1, "status", "HTTP 500: tools are not supported", 500),
        RequestFailed(1, "status", "HTTP 500: Internal server error", 500),
        RequestFailed(1, "timeout", "tools are not supported"),
    ],
)
def test_no_other_failure_is_taken_for_a_refusal_of_tools(failed: RequestFailed) -> None:
    assert not refuses_tools(failed)


CONFIG = LoopConfig(retry_base_ms=1_000, retry_cap_ms=5_000)


def test_each_try_waits_twice_as_long_up_to_the_cap_and_at_least_half_of_that() -> None:
    for attempt, whole in ((1, 1_000), (2, 2_000), (3, 4_000), (4, 5_000), (90, 5_000)):
        for seed in range(50):
            ms = delay_ms(CONFIG, seed=seed, ref=1, attempt=attempt, retry_after_ms=None)
            assert ms is not None
            assert whole // 2 <= ms <= whole


def test_the_wait_is_drawn_from_the_seed_the_ref_and_the_attempt() -> None:
    drawn = {
        delay_ms(CONFIG, seed=seed, ref=ref, attempt=1, retry_after_ms=None)
        for seed in range(5)
        for ref in range(5)
    }
    assert len(drawn) > 20


@pytest.mark.parametrize(
    ("retry_after_ms", "ms"), [(3_000, 3_000), (5_000, 5_000), (5_001, None), (0, 803), (-9, 803)]
)
def test_the_wish_of_the_server_is_granted_up_to_the_cap(retry_after_ms: int, ms: int | None) -> None:
    assert delay_ms(CONFIG, seed=1, ref=1, attempt=1, retry_after_ms=retry_after_ms) == ms


@given(st.integers(), st.integers(1, 99), st.integers(1, 99), st.none() | st.integers(0, 5_000))
def test_no_wait_is_longer_than_the_cap(
    seed: int, ref: int, attempt: int, retry_after_ms: int | None
) -> None:
    ms = delay_ms(CONFIG, seed=seed, ref=ref, attempt=attempt, retry_after_ms=retry_after_ms)
    assert ms is not None
    assert 0 <= ms <= 5_000


def test_the_wait_is_the_same_in_every_process() -> None:
    program = (
        "from tests.domain.loop.test_retries import *;"
        "print([delay_ms(CONFIG, seed=s, ref=1, attempt=2, retry_after_ms=None) for s in range(9)])"
    )
    expected = str([delay_ms(CONFIG, seed=seed, ref=1, attempt=2, retry_after_ms=None) for seed in range(9)])
    assert {printed_under(seed, program) for seed in range(3)} == {expected}
