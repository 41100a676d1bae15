"""A client that drops reasoning works with an upstream that refuses calls without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.adapters.proxy.test_chat import ASKED, TOOLS, saying
from tests.servers.chat_server import chunk, serving, streaming
from tests.servers.proxy_server import proxying
from toolreel.presets import shipped
from toolreel.proxy import KeptThoughts, ProxySettings, Route
from toolreel_core._plan import Preset
from toolreel_core._proxy import ClientRequest, Profile, client_request, wants_thoughts
from toolreel_core._settings import Provider

CALL: Any = {"id": "c1", "type": "function", "function": {"name": "stock", "arguments": '{"part": "pin"}'}}
THOUGHT = {"reasoning_content": "Count them."}
CALLED = saying(None, "tool_calls", tool_calls=[CALL], **THOUGHT)
STREAMED = streaming(
    'data: {"choices":[{"index":0,"delta":{"reasoning_content":"Count them."}}]}\n\n',
    f'data: {{"choices":[{{"index":0,"delta":{{"tool_calls":[{json.dumps({"index": 0, **CALL})}]}}}}]}}\n\n',
    chunk(finish="tool_calls"),
    "data: [DONE]\n\n",
)


def deepseek(_model: str) -> Preset:
    return Preset.of("mine", {"provider": {"reasoning_required_on": "tool_turns"}})


@pytest.mark.parametrize("stream", [False, True])
def test_the_sdk_works_though_it_drops_what_the_model_thought(stream: bool, tmp_path: Path) -> None:
    with serving(STREAMED if stream else CALLED, saying("Four.")) as server:
        route = Route(server.url, preset=deepseek)
        with proxying(ProxySettings((route,), folder=tmp_path)) as proxy:
            repairs = play(proxy.url, stream=stream)
        sent = json.loads(server.seen[1].body)["messages"][1]
    assert repairs == "reasoning_restored"
    assert sent["reasoning_content"] == "Count them."
    replaying = ProxySettings((Route("http://a.invalid", preset=deepseek),), folder=tmp_path, mode="replay")
    with proxying(replaying) as proxy:
        assert play(proxy.url, stream=stream) == "reasoning_restored"


def play(url: str, *, stream: bool) -> str | None:
    """Call the model twice, and send back the fields of OpenAI only; returns the repairs of the second."""
    with openai.OpenAI(base_url=url, api_key="sk-client-0123456789", max_retries=0) as sdk:
        if stream:
            with sdk.chat.completions.stream(model="m", messages=ASKED, tools=TOOLS) as events:
                calls: Any = events.get_final_completion().choices[0].message.tool_calls
        else:
            done = sdk.chat.completions.create(model="m", messages=ASKED, tools=TOOLS)
            calls = done.choices[0].message.tool_calls
        (call,) = calls
        said: Any = {"role": "assistant", "content": "", "tool_calls": [call.to_dict()]}
        history = [*ASKED, said, {"role": "tool", "tool_call_id": call.id, "content": "4"}]
        raw = sdk.chat.completions.with_raw_response.create(model="m", messages=history, tools=TOOLS)
        assert raw.parse().choices[0].message.content == "Four."
        return raw.headers.get("x-toolreel-repairs")


def test_what_is_kept_is_bounded_and_the_newest_stays() -> None:
    thoughts = KeptThoughts(most=50_000)
    profile = Profile(Provider(reasoning_required_on="all_assistant"))
    for number in range(200):
        thoughts.keep(asked(number), {"role": "assistant", "content": "a", **THOUGHT}, profile, "me")
    found = [bool(thoughts.restored(asked(number, "a"), profile, "me")[1]) for number in range(200)]
    assert found == sorted(found)
    assert 10 < sum(found) < 30


def asked(number: int, *said: str) -> ClientRequest:
    messages = [{"role": "user", "content": str(number)}]
    messages += [{"role": "assistant", "content": each} for each in said]
    request = client_request(json.dumps({"model": "m", "messages": messages}))
    assert isinstance(request, ClientRequest)
    return request


@pytest.mark.parametrize("name", ["deepseek", "gemini", "openrouter", "moonshot"])
def test_the_presets_of_those_that_want_it_say_so(name: str) -> None:
    assert wants_thoughts(Profile.of(shipped().get(name)).provider)
