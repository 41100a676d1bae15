"""Clients of Responses and Messages get repaired replies of any upstream, through the real SDKs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import httpx
import httpx2
import openai
import pytest
from anthropic import Anthropic, APIStatusError, BadRequestError

from tests.servers.chat_server import Answer, ChatServer, replying, serving, streaming
from tests.servers.proxy_server import proxying
from tests.wire_forms import events_of, frame, said_in
from toolreel._replay import replay
from toolreel.proxy import ProxySettings, Route
from toolreel.testing import saying
from toolreel_core import Completed
from toolreel_core._jsontext import Tree, canonical
from toolreel_core._settings import PATHS, WireForm

FORMS: tuple[WireForm, ...] = ("chat_completions", "responses", "messages")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"part": {"type": "string"}},
    "required": ["part"],
}
ASKED: dict[str, Any] = {"role": "user", "content": "How many pins?"}
IN_TEXT = 'Looking.\n<tool_call>{"name": "stock", "arguments": {"part": "pin"}}</tool_call>'
WHOLE: Mapping[WireForm, dict[str, Any]] = {
    "chat_completions": {"id": "gen-1", "model": "m", "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
    "responses": {"id": "resp_1", "created_at": 1, "model": "m", "parallel_tool_calls": True},
    "messages": {"id": "msg_1", "model": "m", "usage": {"input_tokens": 3, "output_tokens": 2}},
}

_TEXT: Tree = {"type": "output_text", "text": "", "annotations": []}
PART = frame({"type": "response.content_part.added", "output_index": 0, "content_index": 0, "part": _TEXT})
"""What the SDK's own helper for streams wants before the first text of a response."""


def answer(form: WireForm, said: str | Tree, *, stream: bool) -> Answer:
    """A text, or the body of a chat completion, in a form."""
    chat = saying(said) if isinstance(said, str) else said
    body: dict[str, Any] = {**json.loads(said_in(form, canonical(chat))), **WHOLE[form]}
    if not stream:
        return replying(body)
    if form != "chat_completions":
        events = [*events_of(form, body)]
        return streaming(*events[:2], *[PART] * (form == "responses"), *events[2:])
    first = {"index": 0, "delta": {"content": said}, "finish_reason": None}
    frames: list[Any] = [{**body, "choices": [first]}, {**body, "choices": [{**first, "delta": {}}]}]
    frames[1]["choices"][0]["finish_reason"] = "stop"
    return streaming(*(f"data: {canonical(frame)}\n\n" for frame in frames), "data: [DONE]\n\n")


def to(server: ChatServer, form: WireForm, **further: Any) -> ProxySettings:  # noqa: ANN401 - settings of several types
    return ProxySettings((Route(server.url, settings={"wire_form": form}),), **further)


class Responses:
    """A client that keeps the items of its conversation."""

    form: Final[WireForm] = "responses"

    def __init__(self, url: str, http: httpx2.Client | None = None) -> None:
        self.sdk = openai.OpenAI(base_url=url, api_key="sk-client", max_retries=0, http_client=http)
        self.items: list[Any] = [ASKED]

    def turn(self, *, stream: bool, **further: Any) -> tuple[str, list[tuple[str, str, Any]]]:  # noqa: ANN401
        """The text, and the id, name and arguments of each call."""
        tool = {"type": "function", "name": "stock", "parameters": SCHEMA, "strict": False}
        asked: dict[str, Any] = {"model": "m", "input": self.items, "tools": [tool], **further}
        if stream:
            with self.sdk.responses.stream(**asked) as events:
                pieces = [event.delta for event in events if event.type == "response.output_text.delta"]
                reply: Any = events.get_final_response()
            assert "".join(pieces).strip() == reply.output_text
        else:
            reply = self.sdk.responses.create(**asked)
        self.items += [item.model_dump(exclude_none=True) for item in reply.output]
        calls = [item for item in reply.output if item.type == "function_call"]
        self.items += [
            {"type": "function_call_output", "call_id": call.call_id, "output": "4"} for call in calls
        ]
        return reply.output_text, [(call.call_id, call.name, json.loads(call.arguments)) for call in calls]


class Messages:
    """The same for Anthropic's SDK."""

    form: Final[WireForm] = "messages"

    def __init__(self, url: str, http: httpx2.Client | None = None) -> None:
        self.sdk = Anthropic(
            base_url=url.removesuffix("/v1"), api_key="sk-client", max_retries=0, http_client=http
        )
        self.messages: list[Any] = [ASKED]

    def turn(self, *, stream: bool, **further: Any) -> tuple[str, list[tuple[str, str, Any]]]:  # noqa: ANN401
        """The text, and the id, name and arguments of each call."""
        tool = {"name": "stock", "input_schema": SCHEMA}
        asked: dict[str, Any] = {
            "model": "m",
            "max_tokens": 100,
            "messages": self.messages,
            "tools": [tool],
            **further,
        }
        if stream:
            with self.sdk.messages.stream(**asked) as events:
                pieces = list(events.text_stream)
                reply: Any = events.get_final_message()
            assert "".join(pieces) == "".join(block.text for block in reply.content if block.type == "text")
        else:
            reply = self.sdk.messages.create(**asked)
        content = [block.model_dump(exclude_none=True) for block in reply.content]
        self.messages.append({"role": "assistant", "content": content})
        calls = [block for block in reply.content if block.type == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": "4"} for call in calls]
        if results:
            self.messages.append({"role": "user", "content": results})
        text = "".join(block.text for block in reply.content if block.type == "text")
        return text, [(call.id, call.name, call.input) for call in calls]


CLIENTS: tuple[Callable[[str], Responses | Messages], ...] = (Responses, Messages)
SHORT = [(Responses, "chat_completions", True), (Messages, "chat_completions", False)]
"""Clients like Codex and Claude Code, in front of an OpenAI-compatible server; nightly all others."""
PAIRS: list[Any] = [
    pytest.param(
        client, upstream, stream, marks=() if (client, upstream, stream) in SHORT else pytest.mark.slow
    )
    for client in CLIENTS
    for upstream in FORMS
    for stream in (False, True)
]


@pytest.mark.parametrize(("client", "upstream", "stream"), PAIRS)
def test_an_sdk_gets_a_call_that_was_text_and_goes_on(
    client: Callable[[str], Responses | Messages], upstream: WireForm, stream: bool
) -> None:
    script = (answer(upstream, IN_TEXT, stream=stream), answer(upstream, "Four.", stream=stream))
    with serving(*script) as server, proxying(to(server, upstream)) as proxy:
        one = client(proxy.url)
        with one.sdk:
            text, calls = one.turn(stream=stream)
            assert (text, [call[1:] for call in calls]) == ("Looking.", [("stock", {"part": "pin"})])
            assert one.turn(stream=stream) == ("Four.", [])
    assert [seen.path for seen in server.seen] == [f"/v1{PATHS[upstream]}"] * 2
    assert proxy.log[0]["repairs"] == ["TEXT_CALL_READ"]
    keys = (server.seen[0].headers.get(name, "") for name in ("authorization", "x-api-key"))
    assert [key.removeprefix("Bearer ") for key in keys if key] == ["sk-client"]
    sent = canonical(json.loads(server.seen[1].body))
    assert sent.count(calls[0][0]) == 2, "the call and its result go back under the id that the client knows"


@pytest.mark.parametrize("form", ["responses", "messages"])
def test_a_conversation_is_recorded_and_replayed_and_has_a_journal(form: WireForm, tmp_path: Path) -> None:
    client = Responses if form == "responses" else Messages
    script = (answer(form, IN_TEXT, stream=True), answer(form, "Four.", stream=True))

    def talk(url: str) -> list[Any]:
        one = client(url)
        with one.sdk:
            return [one.turn(stream=True), one.turn(stream=True)]

    with serving(*script) as server, proxying(to(server, form, folder=tmp_path)) as proxy:
        recorded = talk(proxy.url)
    (cassette,) = tmp_path.glob("*.yaml")
    (journal,) = tmp_path.glob("*.journal.jsonl")
    assert cassette.stem == journal.name.removesuffix(".journal.jsonl")
    assert replay(journal).run.outcome == Completed("Four.")
    nowhere = Route("http://nowhere.invalid", settings={"wire_form": form})
    with proxying(ProxySettings((nowhere,), folder=tmp_path, mode="replay")) as proxy:
        assert talk(proxy.url) == recorded
        path = f"{proxy.url}{PATHS[form]}"
        given = {"input" if form == "responses" else "messages": [{"role": "user", "content": "Else?"}]}
        response = httpx.post(path, json={"model": "m", **given})
    assert (response.status_code, response.json()["error"]["code"]) == (422, "replay_mismatch")
    assert "Else?" in response.json()["error"]["message"]


def test_what_would_be_lost_is_an_error_in_the_form_of_the_client() -> None:
    with serving() as server, proxying(to(server, "chat_completions")) as proxy:
        one = Messages(proxy.url)
        with one.sdk, pytest.raises(BadRequestError, match="offer a function, or use an upstream") as caught:
            one.turn(stream=False, tools=[{"type": "web_search_20250305", "name": "web_search"}])
        assert caught.value.type == "invalid_request_error"
        other = Responses(proxy.url)
        with other.sdk, pytest.raises(openai.BadRequestError) as refused:
            other.turn(stream=False, previous_response_id="resp_0")
        assert (refused.value.code, refused.value.param) == ("stored_response", "previous_response_id")


def test_an_upstream_that_fails_is_an_error_in_the_form_of_the_client() -> None:
    busy = replying({"error": {"message": "Busy.", "code": "busy"}}, 529)
    cut = streaming('data: {"choices":[{"index":0,"delta":{"content":"Fo"}}]}\n\n', ends=False)
    with serving(busy, cut, cut) as server, proxying(to(server, "chat_completions")) as proxy:
        one = Messages(proxy.url)
        with one.sdk:
            with pytest.raises(APIStatusError, match="Busy") as caught:
                one.turn(stream=True)
            assert (caught.value.status_code, caught.value.type) == (529, "overloaded_error")
            with pytest.raises(APIStatusError, match="broke off"):
                one.turn(stream=True)
        asked = {"model": "m", "input": "Hi.", "stream": True}
        text = httpx.post(f"{proxy.url}/responses", json=asked).text
    *_, last, end = text.split("\n\n")
    name, data = last.split("\ndata: ")
    assert (name, end) == ("event: error", "")
    told = json.loads(data)
    assert (told["type"], told["code"]) == ("error", "upstream_broken")
    numbers = [json.loads(each.split("data: ")[1])["sequence_number"] for each in text.split("\n\n")[:-1]]
    assert numbers == [*range(len(numbers))]


def test_a_key_of_the_proxys_own_stands_where_the_upstream_looks_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("UPSTREAM_KEY", "sk-own")
    heads: dict[WireForm, tuple[str, str]] = {
        "messages": ("x-api-key", "sk-own"),
        "responses": ("authorization", "Bearer sk-own"),
    }
    for upstream, (name, value) in heads.items():
        with serving(answer(upstream, "Four.", stream=False)) as server:
            route = Route(server.url, settings={"wire_form": upstream}, api_key_env="UPSTREAM_KEY")
            with proxying(ProxySettings((route,))) as proxy:
                headers = {"x-api-key": "sk-client", "anthropic-version": "2023-06-01", "anthropic-beta": "b"}
                asked = {"model": "m", "max_tokens": 9, "messages": [ASKED]}
                assert httpx.post(f"{proxy.url}/messages", json=asked, headers=headers).status_code == 200
        seen = server.seen[0].headers
        assert seen[name] == value
        assert "sk-client" not in "".join(seen.values())
        assert ("anthropic-beta" in seen) == (upstream == "messages")
