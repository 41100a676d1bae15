"""Clients that drop what the model thought: it goes back to upstreams that want it, and to nobody else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.domain.proxy.asked import Loose, asked, build_upstream_request, call, said, whole
from toolreel_core._client_requests import ClientRequest
from toolreel_core._jsontext import Json
from toolreel_core._proxy import KeptThoughts, Profile
from toolreel_core._settings import Provider

DEEPSEEK = Provider(reasoning_required_on="tool_turns", reasoning_placeholder=" ")
GEMINI = Provider(signature_channel="extra_content")
GEMINI_ROUTED = Provider(signature_channel="reasoning_details")
OPENROUTER = Provider(name="openrouter")
ASKED = {"role": "user", "content": "How many pins?"}
RESULT = {"role": "tool", "tool_call_id": "call_a", "content": "4"}
SIGNED = {"google": {"thought_signature": "c2lnbmVk"}}
DETAILS: Json = [{"type": "reasoning.encrypted", "data": "ZW5j", "id": "call_a", "index": 0}]

WANTED: dict[str, tuple[Provider, Loose]] = {
    "DeepSeek's reasoning": (DEEPSEEK, {"reasoning_content": "Count.", "tool_calls": [call()]}),
    "reasoning by its other name": (DEEPSEEK, {"reasoning": "Count.", "tool_calls": [call()]}),
    "Gemini's signature": (GEMINI, {"tool_calls": [call(extra_content=SIGNED)]}),
    "the second of two signatures": (GEMINI, {"tool_calls": [call(), call(id="b", extra_content=SIGNED)]}),
    "Gemini's signature behind OpenRouter": (
        GEMINI_ROUTED,
        {"reasoning_details": DETAILS, "tool_calls": [call()]},
    ),
    "Anthropic's behind OpenRouter": (OPENROUTER, {"reasoning_details": DETAILS, "tool_calls": [call()]}),
}


def reply_to(
    request: ClientRequest, provider: Provider, message: Loose
) -> tuple[dict[str, Any], KeptThoughts]:
    """What the client gets of a message, and what is kept of it."""
    got: Any = said(whole({"role": "assistant", "content": None, **message}), request, Profile(provider)).body
    message, thoughts = got["choices"][0]["message"], KeptThoughts()
    thoughts.keep(request, message, provider, "me")
    return dict(message), thoughts


def stripped(message: dict[str, Any]) -> dict[str, Any]:
    """What a client that knows the documented fields only sends back."""
    calls = [{key: each[key] for key in ("id", "type", "function")} for each in message["tool_calls"]]
    return {"role": "assistant", "content": message["content"], "tool_calls": calls}


@pytest.mark.parametrize(("provider", "message"), WANTED.values(), ids=WANTED)
def test_what_a_client_drops_goes_back(provider: Provider, message: Loose) -> None:
    full, thoughts = reply_to(asked(ASKED), provider, message)
    results = [{**RESULT, "tool_call_id": each["id"]} for each in full["tool_calls"]]
    bare = asked(ASKED, stripped(full), *results)
    request, repairs = thoughts.restore(bare, provider, "me")
    assert repairs == ("reasoning_restored",)
    sent, whole, without = (
        json.loads(build_upstream_request(each, Profile(provider)).body)
        for each in (request, asked(ASKED, full, *results), bare)
    )
    for key in ("reasoning_content", "reasoning_details", "tool_calls"):
        assert sent["messages"][1].get(key) == whole["messages"][1].get(key)
    assert sent != without
    assert thoughts.restore(bare, provider, "somebody else") == (bare, ())


def test_what_a_client_sends_is_never_changed() -> None:
    full, thoughts = reply_to(asked(ASKED), DEEPSEEK, WANTED["DeepSeek's reasoning"][1])
    for own in ("reasoning_content", "reasoning"):
        request = asked(ASKED, {**stripped(full), own: "My own."}, RESULT)
        assert thoughts.restore(request, DEEPSEEK, "me") == (request, ())
    signed, thoughts = reply_to(asked(ASKED), GEMINI, WANTED["Gemini's signature"][1])
    request = asked(ASKED, signed, RESULT)
    assert thoughts.restore(request, GEMINI, "me") == (request, ())


@pytest.mark.parametrize(("_provider", "message"), WANTED.values(), ids=WANTED)
def test_nothing_is_kept_for_an_upstream_that_does_not_want_it(_provider: Provider, message: Loose) -> None:
    full, thoughts = reply_to(asked(ASKED), Provider(), message)
    request = asked(ASKED, stripped(full), RESULT)
    assert thoughts.restore(request, _provider, "me") == (request, ())
    _, thoughts = reply_to(asked(ASKED), _provider, message)
    assert thoughts.restore(request, Provider(), "me") == (request, ())


def test_messages_that_mean_nothing_to_us_stay_as_they_are() -> None:
    request = asked({"role": "user", "content": [{"type": "hologram"}]})
    assert KeptThoughts().restore(request, DEEPSEEK, "me") == (request, ())


@pytest.mark.parametrize("strange", [1, "a", {"a": [None]}, [1, {"b": 2}]])
def test_fields_of_any_shape_come_back(strange: Json) -> None:
    """Nobody but the upstream knows what is in them."""
    bare: Loose = {"role": "assistant", "content": None, "tool_calls": [call()]}
    cases: dict[Provider, Any] = {
        GEMINI: {**bare, "tool_calls": [call(extra_content=strange)]},
        OPENROUTER: {**bare, "reasoning_details": strange},
    }
    for provider, message in cases.items():
        thoughts = KeptThoughts()
        thoughts.keep(asked(ASKED), message, provider, "me")
        again, repairs = thoughts.restore(asked(ASKED, bare, RESULT), provider, "me")
        assert repairs
        assert again.entries[1] == message
        assert build_upstream_request(again, Profile(provider)).body


def test_what_is_kept_is_bounded_and_the_newest_stays() -> None:
    thoughts = KeptThoughts(most=50_000)
    said: Any = {"role": "assistant", "content": "a", "reasoning_content": "Hm."}
    begun = [{"role": "user", "content": str(number)} for number in range(200)]
    for first in begun:
        for _ in range(2):
            thoughts.keep(asked(first), said, DEEPSEEK, "me")
    bare = {**said, "reasoning_content": ""}
    found = [bool(thoughts.restore(asked(first, bare), DEEPSEEK, "me")[1]) for first in begun]
    assert found == sorted(found)
    assert 10 < sum(found) < 50
