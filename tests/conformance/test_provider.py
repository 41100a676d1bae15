"""The provider, asked over HTTP as a loop would ask it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from benchmarks.conformance.provider import Provider, serving
from benchmarks.conformance.replies import FINAL
from benchmarks.conformance.shape import load

SHAPES = """
[[shape]]
id = "call"
about = "A call, and one more."
evidence = ["e#1"]
right = ["executes"]
calls = ["clock {}", "clock {}"]
message = '''{"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function",
  "function": {"name": "clock", "arguments": "{}"}}]}'''
then = ['''{"role": "assistant", "content": "One more.", "tool_calls": [{"id": "b", "type": "function",
  "function": {"name": "clock", "arguments": "{}"}}]}''']

[[shape]]
id = "passing"
about = "An error that passes."
evidence = ["e#1"]
right = ["recovers"]
transient = true
raw = '{"error": "busy"}'

[[shape]]
id = "lost"
about = "A stream that is lost."
evidence = ["e#1"]
right = ["fails"]
ending = "drop"
stream = ['{"content": "Two ships"}']
"""

ASKED = {"role": "user", "content": "Prepare the report."}


def called(identity: str) -> object:
    call = {"id": identity, "type": "function", "function": {"name": "clock", "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def result(identity: str) -> object:
    return {"role": "tool", "tool_call_id": identity, "content": "12:00"}


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[Provider]:
    (tmp_path / "shapes.toml").write_text(SHAPES, "utf-8")
    with serving({shape.id: shape for shape in load(tmp_path)}) as provider:
        yield provider


def ask(provider: Provider, shape: str, *messages: object, **options: object) -> httpx.Response:
    body = {"model": "m", "messages": [ASKED, *messages], **options}
    with httpx.Client(trust_env=False) as client:
        return client.post(f"{provider.base_url(shape, 'run')}/chat/completions", json=body)


def content(response: httpx.Response) -> object:
    return response.json()["choices"][0]["message"]["content"]


def test_a_run_gets_its_shape_then_its_further_turns_and_then_the_final_text(provider: Provider) -> None:
    first = ask(provider, "call")
    assert first.json()["choices"][0]["message"]["tool_calls"][0]["id"] == "a"
    assert content(ask(provider, "call", called("a"), result("a"))) == "One more."
    last = ask(provider, "call", called("a"), result("a"), called("b"), result("b"))
    assert content(last) == FINAL
    assert len(provider.seen("run").taken) == 3


def test_a_loop_that_ends_by_a_tool_is_given_a_call_of_it(provider: Provider) -> None:
    ask(provider, "passing")
    tools = [{"type": "function", "function": {"name": "final_answer"}}]
    ended = ask(provider, "passing", tools=tools).json()["choices"][0]["message"]["tool_calls"][0]
    assert ended["function"]["name"] == "final_answer"


def test_a_history_that_breaks_a_rule_is_refused_and_written_down(provider: Provider) -> None:
    ask(provider, "call")
    refused = ask(provider, "call", called("a"))
    assert refused.status_code == 400
    assert refused.json()["error"]["message"] == "no tool message answers the calls ['a']"
    assert provider.seen("run").refused == ["no tool message answers the calls ['a']"]


def test_the_same_request_gets_the_same_shape_unless_the_failure_passes(provider: Provider) -> None:
    assert ask(provider, "passing").json() == {"error": "busy"}
    assert content(ask(provider, "passing")) == FINAL


def test_a_client_that_streams_gets_a_plain_shape_as_one_chunk(provider: Provider) -> None:
    streamed = ask(provider, "call", stream=True)
    assert streamed.headers["content-type"] == "text/event-stream"
    assert '"delta": {"role": "assistant", "content": null, "tool_calls": [{"index": 0,' in streamed.text
    assert streamed.text.endswith("data: [DONE]\n\n")


def test_a_connection_can_be_lost(provider: Provider) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        ask(provider, "lost", stream=True)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('right = ["dances"]', "there is no outcome 'dances'"),
        ('right = ["executes"]', "calls and the outcomes that execute belong together"),
        ('right = ["answers"]', "says and the outcome answers belong together"),
        ('right = ["tells"]\nraw = ""', "a shape has one of message, raw and stream"),
        ('right = ["tells"]\nevidence = []', "where it was seen"),
        ('right = ["tells"]\ncolour = "red"', "unexpected keyword argument 'colour'"),
    ],
)
def test_a_shape_that_is_written_wrongly_is_named(tmp_path: Path, line: str, complaint: str) -> None:
    evidence = "" if "evidence" in line else 'evidence = ["e#1"]\n'
    head = f'[[shape]]\nid = "odd"\nabout = "Odd."\n{evidence}message = "{{}}"\n'
    (tmp_path / "odd.toml").write_text(head + line, "utf-8")
    with pytest.raises(ValueError, match=r"odd\.toml: odd: ") as caught:
        load(tmp_path)
    assert complaint in str(caught.value)
