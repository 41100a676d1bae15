from __future__ import annotations

from typing import get_args

import pytest

from toolreel._driver import Resting
from toolreel._replay import describe_outcome
from toolreel_core._jsontext import canonical
from toolreel_core._protocol import (
    AskApproval,
    Cancelled,
    Completed,
    ContentFiltered,
    EmptyFinal,
    FailureKind,
    InvalidReply,
    MaxTurns,
    Outcome,
    Refused,
    TransformFailed,
    TransportFailed,
    Truncated,
)

URL = "http://127.0.0.1:8080/v1"


@pytest.mark.parametrize(
    ("outcome", "words", "hint"),
    [
        (Completed("It is 42."), "the model gave a final answer", ""),
        (
            EmptyFinal(),
            "the model ended with neither text nor a call",
            "ask again, or try another model",
        ),
        (
            MaxTurns(12),
            "the model still called tools after 12 turns",
            "raise the limit with --set max_turns=24",
        ),
        (
            Truncated("It is"),
            "the answer was cut at the output token limit",
            "raise it with --set max_tokens=…",
        ),
        (Refused("I will not."), "the model refused: I will not.", ""),
        (ContentFiltered("violence"), "the provider's filter suppressed the reply: violence", ""),
        (
            InvalidReply("INVALID_BODY", "<html>"),
            "the reply could not be used (INVALID_BODY): <html>",
            "is --base-url that of an OpenAI-compatible server?",
        ),
        (
            InvalidReply("PROVIDER_ERROR", "overloaded"),
            "the reply could not be used (PROVIDER_ERROR): overloaded",
            "",
        ),
        (
            TransformFailed("the transform 'x' failed"),
            "the transform 'x' failed",
            "correct it; `toolreel resume` continues a recorded run",
        ),
        (
            Resting((AskApproval(2, "call_a", "wipe", canonical({})),)),
            "the run has not ended: it waits for approval of wipe",
            "go on with `toolreel resume`, or go_on()",
        ),
        (
            Resting(()),
            "the run has not ended: it waits for what it asked for",
            "go on with `toolreel resume`, or go_on()",
        ),
        (Cancelled("interrupted"), "interrupted", ""),
        (Cancelled(""), "the run was cancelled", ""),
    ],
)
def test_an_outcome_is_told_with_what_to_do_about_it(
    outcome: Outcome | Resting, words: str, hint: str
) -> None:
    assert describe_outcome(outcome, base_url=URL) == (words, hint)


@pytest.mark.parametrize(
    ("failure", "hint"),
    [
        ("connect", f"no server answers at {URL}: start it, or correct --base-url"),
        ("timeout", "the server is too slow: raise --timeout"),
        ("broken", "the connection broke before the reply was whole: try again, or correct --base-url"),
        ("too_large", "the server sent more than any chat completion has; is --base-url right?"),
    ],
)
def test_a_failed_transport_has_a_remedy(failure: FailureKind, hint: str) -> None:
    assert describe_outcome(TransportFailed(failure, None, "ReadError"), base_url=URL) == ("ReadError", hint)


UNKNOWN_MODEL = "the server does not know the model: ask it for its names at /v1/models, then correct --model"
REFUSED = "the server refused the request: see what it says, then correct the options"


@pytest.mark.parametrize(
    ("status", "message", "hint"),
    [
        (401, "No key.", "the server wants a key: name the variable that holds it with --api-key-env"),
        (403, "No key.", "the server wants a key: name the variable that holds it with --api-key-env"),
        (404, "The model `m` does not exist", UNKNOWN_MODEL),
        (400, "Unknown model: m", UNKNOWN_MODEL),
        (422, "Model m not found", UNKNOWN_MODEL),
        (400, "This model's context is 4096 tokens", REFUSED),
        (400, "temperature is out of range", REFUSED),
        (404, "Not Found", f"nothing is at {URL}: correct --base-url"),
        (429, "Slow down.", "too many requests: wait, then try again"),
        (308, "no text", f"{URL} sends requests elsewhere: correct --base-url"),
        (500, "Oops", "the server failed: try again"),
        (503, "The model is loading", "the server failed: try again"),
    ],
)
def test_an_http_status_has_a_remedy(status: int, message: str, hint: str) -> None:
    outcome = TransportFailed("status", status, f"HTTP {status}: {message}")
    assert describe_outcome(outcome, base_url=URL) == (f"HTTP {status}: {message}", hint)


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_was_not_accepted_is_named_by_its_variable(status: int) -> None:
    outcome = TransportFailed("status", status, "No.")
    assert describe_outcome(outcome, base_url=URL, api_key_env="API_KEY")[1] == (
        f"the key in API_KEY was not accepted: is it the right one for {URL}?"
    )


def test_every_kind_of_failure_has_a_remedy() -> None:
    hints = {
        describe_outcome(TransportFailed(kind, None, ""), base_url=URL)[1] for kind in get_args(FailureKind)
    }
    assert len(hints) == len(get_args(FailureKind))
    assert "" not in hints
