"""The openai SDK's Responses client and Anthropic's SDK: recorded, replayed, and made into journals."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from anthropic import Anthropic
from openai import OpenAI

from tests.samples import complaint
from tests.servers.chat_server import Answer, serving
from tests.wire_forms import OTHER_FORMS, events_of, said_in
from toolreel._internal import JournalError
from toolreel._replay import DRIVERS, RecoveredRun, recover_runs, replay
from toolreel.cassette import Session, use_cassette
from toolreel.testing import calling, saying
from toolreel_core import Completed
from toolreel_core._jsontext import canonical
from toolreel_core._settings import WireForm

NOWHERE: Final = "http://replay.invalid"
KEY: Final = "none"
SCHEMA: Final[dict[str, Any]] = {"type": "object", "properties": {"city": {"type": "string"}}}
WEATHER: Final[dict[str, Any]] = {"name": "weather", "description": "The weather.", "input_schema": SCHEMA}
FUNCTION: Final[dict[str, Any]] = {
    "type": "function",
    "name": "weather",
    "parameters": SCHEMA,
    "strict": False,
}
QUESTION: Final = {"role": "user", "content": "Is it warm in Oslo?"}
RESULT: Final = "Warm in Oslo: 21 degrees"
STREAM: Final = {"content-type": "text/event-stream"}
WHOLE: Final[dict[WireForm, dict[str, Any]]] = {
    "responses": {"id": "resp_1", "created_at": 1, "model": "m", "parallel_tool_calls": True},
    "messages": {"id": "msg_1", "model": "m", "usage": {"input_tokens": 3, "output_tokens": 2}},
}
"""Fields without which an SDK reads no body."""


def answers(form: WireForm, *, streamed: bool) -> list[Answer]:
    """A text with a call, and what it found."""
    call: dict[str, Any] = json.loads(canonical(calling(("weather", {"city": "Oslo"}))))
    call["choices"][0]["message"]["content"] = "Let me look."
    bodies = [
        {**json.loads(said_in(form, canonical(body))), **WHOLE[form]} for body in (call, saying("Yes."))
    ]
    if streamed:
        return [Answer("".join(events_of(form, body)).encode(), headers=STREAM) for body in bodies]
    return [Answer(canonical(body).encode()) for body in bodies]


def responses(http: httpx2.Client, url: str, *, streamed: bool) -> str:
    client = OpenAI(base_url=f"{url}/v1", api_key=KEY, http_client=http, max_retries=0)
    given: list[Any] = [QUESTION]
    while True:
        asked: dict[str, Any] = {"model": "m", "input": given, "tools": [FUNCTION], "store": False}
        if streamed:
            with client.responses.create(**asked, stream=True) as stream:
                (reply,) = [event.response for event in stream if event.type == "response.completed"]
        else:
            reply = client.responses.create(**asked)
        calls = [item for item in reply.output if item.type == "function_call"]
        if not calls:
            return str(reply.output_text)
        given += [item.model_dump(exclude_none=True) for item in reply.output]
        given += [
            {"type": "function_call_output", "call_id": call.call_id, "output": RESULT} for call in calls
        ]


def messages(http: httpx2.Client, url: str, *, streamed: bool) -> str:
    client = Anthropic(base_url=url, api_key=KEY, http_client=http, max_retries=0)
    given: list[Any] = [QUESTION]
    while True:
        asked: dict[str, Any] = {"model": "m", "max_tokens": 100, "messages": given, "tools": [WEATHER]}
        if streamed:
            with client.messages.stream(**asked) as stream:
                reply: Any = stream.get_final_message()
        else:
            reply = client.messages.create(**asked)
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in reply.content)
        given.append(
            {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in reply.content]}
        )
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": RESULT} for call in calls]
        given.append({"role": "user", "content": results})


TALKS: Final[dict[WireForm, Callable[..., str]]] = {"responses": responses, "messages": messages}


def recorded(path: Path, form: WireForm, *, streamed: bool) -> None:
    with (
        serving(*answers(form, streamed=streamed)) as server,
        use_cassette(path, "record") as session,
        httpx2.Client(transport=session.httpx2_transport()) as http,
    ):
        assert TALKS[form](http, server.url.removesuffix("/v1"), streamed=streamed) == "Yes."


def journals(path: Path) -> tuple[RecoveredRun, ...]:
    return recover_runs(Session(path))


@pytest.mark.parametrize("form", OTHER_FORMS)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_recorded_session_is_replayed_and_has_a_journal(
    tmp_path: Path, form: WireForm, streamed: bool
) -> None:
    path = tmp_path / "session.yaml"
    recorded(path, form, streamed=streamed)
    with use_cassette(path) as session, httpx2.Client(transport=session.httpx2_transport()) as http:
        assert TALKS[form](http, NOWHERE, streamed=streamed) == "Yes."
    (one,) = journals(path)
    assert one.run.outcome == Completed("Yes.")
    plan = one.recorded.plan
    assert (plan.provider.wire_form, plan.tools.names, plan.messages[-1].content) == (
        form,
        ("weather",),
        QUESTION["content"],
    )
    journal = tmp_path / "it.journal.jsonl"
    journal.write_text(one.recorded.text, encoding="utf-8")
    for driver in DRIVERS:
        assert replay(journal, driver=driver).run.outcome == one.run.outcome


def test_a_conversation_that_the_server_keeps_has_no_journal(tmp_path: Path) -> None:
    path = tmp_path / "session.yaml"
    with (
        serving(answers("responses", streamed=False)[1]) as server,
        use_cassette(path, "record") as session,
        httpx2.Client(transport=session.httpx2_transport()) as http,
    ):
        client = OpenAI(base_url=server.url, api_key=KEY, http_client=http, max_retries=0)
        client.responses.create(model="m", input="Hi.", previous_response_id="resp_0")
    assert "record with the whole input instead of previous_response_id" in complaint(
        JournalError, partial(journals, path)
    )
