"""Clients that drop what the model thought: it goes back to upstreams that want it, and to nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.domain.proxy.asked import Loose, asked, call, said, whole
from toolreel_core._client_requests import ClientRequest
from toolreel_core._jsontext import Json, JsonText, parse
from toolreel_core._proxy import (
    Find,
    Key,
    Outbound,
    Profile,
    Thoughts,
    outbound,
    thoughts_to_return,
    wants_thoughts,
    with_thoughts,
)
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
) -> tuple[dict[str, Any], tuple[Key, Thoughts] | None]:
    """What the client gets of a message, and what is kept of it."""
    got: Any = said(whole({"role": "assistant", "content": None, **message}), request, Profile(provider)).body
    message = got["choices"][0]["message"]
    return dict(message), thoughts_to_return(request, message, provider, caller="me")


def stripped(message: dict[str, Any]) -> dict[str, Any]:
    """What a client that knows the documented fields only sends back."""
    calls = [{key: each[key] for key in ("id", "type", "function")} for each in message["tool_calls"]]
    return {"role": "assistant", "content": message["content"], "tool_calls": calls}


def body_of(request: ClientRequest, provider: Provider) -> JsonText:
    """What the upstream gets."""
    sent = outbound(request, Profile(provider))
    assert isinstance(sent, Outbound)
    return sent.body


def finding(found: tuple[Key, Thoughts]) -> Any:  # noqa: ANN401 - a function
    def find(key: object) -> Thoughts | None:
        return found[1] if key == found[0] else None

    return find


def finding_any(thoughts: Thoughts) -> Find:
    return lambda _key: thoughts


@pytest.mark.parametrize(("provider", "message"), WANTED.values(), ids=WANTED)
def test_what_a_client_drops_goes_back(provider: Provider, message: Loose) -> None:
    full, found = reply_to(asked(ASKED), provider, message)
    assert found is not None
    results = [{**RESULT, "tool_call_id": each["id"]} for each in full["tool_calls"]]
    bare = asked(ASKED, stripped(full), *results)
    request, changed = with_thoughts(bare, provider, finding(found), caller="me")
    assert changed
    sent: Any = parse(body_of(request, provider))
    kept_by_client: Any = parse(body_of(asked(ASKED, full, *results), provider))
    for key in ("reasoning_content", "reasoning_details", "tool_calls"):
        assert sent["messages"][1].get(key) == kept_by_client["messages"][1].get(key)
    assert sent != parse(body_of(bare, provider))
    other = with_thoughts(bare, provider, finding(found), caller="somebody else")
    assert other == (bare, False)


def test_what_a_client_sends_is_never_changed() -> None:
    full, found = reply_to(asked(ASKED), DEEPSEEK, WANTED["DeepSeek's reasoning"][1])
    assert found is not None
    for own in ("reasoning_content", "reasoning"):
        request = asked(ASKED, {**stripped(full), own: "My own."}, RESULT)
        assert with_thoughts(request, DEEPSEEK, finding(found), caller="me") == (request, False)
    signed, found = reply_to(asked(ASKED), GEMINI, WANTED["Gemini's signature"][1])
    assert found is not None
    request = asked(ASKED, signed, RESULT)
    assert with_thoughts(request, GEMINI, finding(found), caller="me") == (request, False)


@pytest.mark.parametrize(("_provider", "message"), WANTED.values(), ids=WANTED)
def test_nothing_is_kept_for_an_upstream_that_does_not_want_it(_provider: Provider, message: Loose) -> None:
    assert not wants_thoughts(Provider())
    full, found = reply_to(asked(ASKED), Provider(), message)
    assert found is None
    request = asked(ASKED, stripped(full), RESULT)
    assert with_thoughts(request, Provider(), finding_any(Thoughts({"reasoning": "a"}))) == (request, False)


def test_messages_that_mean_nothing_to_us_stay_as_they_are() -> None:
    request = asked({"role": "user", "content": [{"type": "hologram"}]})
    assert with_thoughts(request, DEEPSEEK, finding_any(Thoughts({"reasoning_content": "a"}))) == (
        request,
        False,
    )


@pytest.mark.parametrize("strange", [1, "a", [], {"a": [None]}, [1, {"b": 2}]])
def test_fields_of_any_shape_come_back(strange: Json) -> None:
    """Nobody but the upstream knows what is in them."""
    request = asked(ASKED, {"role": "assistant", "content": None, "tool_calls": [call()]}, RESULT)
    for thoughts in (Thoughts({"reasoning_details": strange}), Thoughts({}, ({"extra_content": strange},))):
        again, changed = with_thoughts(request, GEMINI, finding_any(thoughts))
        assert changed
        assert body_of(again, Provider())
