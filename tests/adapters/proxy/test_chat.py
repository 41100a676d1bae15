"""Clients get repaired replies through a real proxy: the openai SDK, plain and streamed, and curl."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from tests.patience import HANG, eventually
from tests.servers.chat_server import (
    FAR_SIDES,
    LIMIT,
    Answer,
    ChatServer,
    FarSide,
    chunk,
    nobody_listens,
    replying,
    serving,
    streaming,
)
from tests.servers.proxy_server import proxying
from toolreel.presets import shipped
from toolreel.proxy import Extras, ProxyLimits, ProxySettings, Route
from toolreel_core._jsontext import Json
from toolreel_core._plan import Preset
from toolreel_core._proxy import Profile, wants_thoughts_back

TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "stock",
            "parameters": {
                "type": "object",
                "properties": {"part": {"type": "string"}},
                "required": ["part"],
                "additionalProperties": False,
            },
        },
    }
]
ASKED: Any = [{"role": "user", "content": "How many pins?"}]
IN_TEXT = 'Looking.\n<tool_call>{"name": "stock", "arguments": {"part": "pin"}}</tool_call>'
DONE = "data: [DONE]\n\n"


def saying(content: Json, finish: str = "stop", **further: Json) -> Answer:
    return replying(
        {
            "choices": [
                {"message": {"role": "assistant", "content": content, **further}, "finish_reason": finish}
            ]
        }
    )


def calling(arguments: Json) -> Answer:
    call: Json = {"id": "c1", "type": "function", "function": {"name": "stock", "arguments": arguments}}
    return saying(None, "tool_calls", tool_calls=[call])


def to(server: ChatServer, extras: Extras | None = None, **limits: Any) -> ProxySettings:  # noqa: ANN401 - limits of several types
    return ProxySettings((Route(server.url),), extras=extras or Extras(), limits=ProxyLimits(**limits))


def client(url: str, key: str = "sk-client") -> openai.OpenAI:
    return openai.OpenAI(base_url=url, api_key=key, max_retries=0)


def test_the_sdk_gets_a_call_that_was_text() -> None:
    with serving(saying(IN_TEXT)) as server, proxying(to(server)) as proxy, client(proxy.url) as sdk:
        raw = sdk.chat.completions.with_raw_response.create(model="m", messages=ASKED, tools=TOOLS)
        completion = raw.parse()
    message = completion.choices[0].message
    assert message.content == "Looking."
    assert message.tool_calls is not None
    assert message.tool_calls[0].type == "function"
    assert json.loads(message.tool_calls[0].function.arguments) == {"part": "pin"}
    assert completion.choices[0].finish_reason == "tool_calls"
    assert raw.headers["x-toolreel-repairs"] == "TEXT_CALL_READ"
    assert server.seen[0].headers["authorization"] == "Bearer sk-client"
    assert proxy.log[0]["repairs"] == ["TEXT_CALL_READ"]
    assert json.loads(server.seen[0].body) == {"messages": ASKED, "model": "m", "tools": TOOLS}


def test_a_stream_says_at_its_end_what_was_repaired() -> None:
    answer = streaming(chunk(IN_TEXT), chunk(finish="stop"), DONE)
    body = {"model": "m", "messages": ASKED, "tools": TOOLS, "stream": True}
    with serving(answer) as server, proxying(to(server)) as proxy:
        text = httpx.post(f"{proxy.url}/chat/completions", json=body).text
    *_, comment, done, end = text.split("\n\n")
    assert (done, end) == ("data: [DONE]", "")
    assert json.loads(comment.removeprefix(": toolreel ")) == {
        "repairs": ["TEXT_CALL_READ"],
        "noticed": [],
        "added": [],
    }


def test_text_does_not_wait_for_the_end() -> None:
    """The first words are there while the upstream waits to be asked for the rest."""
    with serving(streaming(chunk("Four "), 600.0, ends=False)) as server, proxying(to(server)) as proxy:
        body = {"model": "m", "messages": ASKED, "tools": TOOLS, "stream": True}
        with httpx.stream("POST", f"{proxy.url}/chat/completions", json=body, timeout=HANG) as response:
            first = next(response.iter_lines())
    assert json.loads(first.removeprefix("data: "))["choices"][0]["delta"]["content"] == "Four"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("side", FAR_SIDES.values(), ids=FAR_SIDES)
def test_whatever_the_upstream_does_is_a_clear_error(side: FarSide, stream: bool) -> None:
    limits: dict[str, Any] = {"stall_seconds": 0.2, "response_bytes": LIMIT}
    expected = {"status": side.status or 0, "timeout": 504, "broken": 502, "too_large": 502}[side.failure]
    expected = expected if expected >= 400 else 502
    with (
        serving(side.answer) as server,
        proxying(to(server, **limits)) as proxy,
        client(proxy.url) as sdk,
        pytest.raises(openai.APIError) as caught,
    ):
        list_of(sdk.chat.completions.create(model="m", messages=ASKED, stream=stream))
    assert proxy.log[0]["status"] == expected
    assert caught.value.body is not None
    assert caught.value.message


def list_of(given: Any) -> None:  # noqa: ANN401 - a completion or a stream of chunks
    if isinstance(given, Iterator | openai.Stream):
        for _ in given:
            pass


def test_a_server_that_is_not_there_is_an_error() -> None:
    with (
        nobody_listens() as url,
        proxying(ProxySettings((Route(url),))) as proxy,
        client(proxy.url) as sdk,
        pytest.raises(openai.InternalServerError, match="cannot be reached") as caught,
    ):
        sdk.chat.completions.create(model="m", messages=ASKED)
    assert caught.value.status_code == 502


def test_a_client_that_leaves_ends_the_upstreams_work() -> None:
    with (
        serving(streaming(chunk("Four"), 600.0, ends=False), Answer(delay=600.0)) as server,
        proxying(to(server)) as proxy,
    ):
        body = {"model": "m", "messages": ASKED, "stream": True}
        with httpx.stream("POST", f"{proxy.url}/chat/completions", json=body, timeout=HANG) as response:
            next(response.iter_lines())
        eventually(lambda: len(proxy.log) == 1, "the streamed request has ended")
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{proxy.url}/chat/completions", json={**body, "stream": False}, timeout=1)
        eventually(lambda: len(proxy.log) == 2, "the plain request has ended")
    assert [entry["status"] for entry in proxy.log] == [200, 499]


def test_an_upstream_that_closes_a_connection_that_rests_is_no_error() -> None:
    with (
        serving(saying("Four."), Answer(raw=b""), saying("Five.")) as server,
        proxying(to(server)) as proxy,
        client(proxy.url) as sdk,
    ):
        said = [sdk.chat.completions.create(model="m", messages=ASKED) for _ in range(2)]
    assert [each.choices[0].message.content for each in said] == ["Four.", "Five."]
    assert server.connections == 2


def test_several_choices_are_not_streamed() -> None:
    with serving() as server, proxying(to(server)) as proxy:
        body = {"model": "m", "messages": ASKED, "stream": True, "n": 2}
        response = httpx.post(f"{proxy.url}/chat/completions", json=body)
    assert (response.status_code, response.json()["error"]["code"]) == (400, "several_choices")


@pytest.mark.parametrize("stream", [False, True])
def test_what_costs_a_request_is_done_where_it_is_wanted(stream: bool) -> None:
    busy = replying({"error": {"message": "Busy."}}, 503)
    script = (busy, saying(""), calling('{"name": 4}'), calling('{"part": "pin"}'))
    extras = Extras(retries=1, recover_empty=True, correct_arguments=1)
    with serving(*script) as server, proxying(to(server, extras)) as proxy, client(proxy.url) as sdk:
        if stream:
            with sdk.chat.completions.stream(model="m", messages=ASKED, tools=TOOLS) as events:
                message: Any = events.get_final_completion().choices[0].message
        else:
            message = sdk.chat.completions.create(model="m", messages=ASKED, tools=TOOLS).choices[0].message
    assert json.loads(message.tool_calls[0].function.arguments) == {"part": "pin"}
    assert proxy.log[0]["added"] == ["retry", "recover_empty", "correct_arguments"]
    told = json.loads(server.seen[3].body)["messages"]
    assert [each["role"] for each in told] == ["user", "user", "assistant", "tool"]


# A client that drops reasoning works with an upstream that refuses calls without it.


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


@pytest.mark.parametrize("name", ["deepseek", "gemini", "openrouter", "moonshot"])
def test_the_presets_of_those_that_want_it_say_so(name: str) -> None:
    assert wants_thoughts_back(Profile.of(shipped().get(name)).provider)
