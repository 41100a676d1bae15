"""Content is nowhere by default, and without secrets where somebody asks for it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.adapters.otel.telemetry import instrumented, told
from tests.servers.chat_server import replying, serving
from toolreel import Plan, Ports, PythonTools, run
from toolreel._driver import InstantClock
from toolreel.http import HttpEndpoint
from toolreel.otel import CONTENT_VARIABLE, captures_content, instrument
from toolreel.testing import Lost, ScriptedEndpoint, calling, saying
from toolreel_core import ConfigError, LoopConfig

WORDS = ("lighthouse", "marigold", "thunder", "walnut")
"""What the user, the model, the arguments and the result say."""
KEY = "sk-abcdefghij0123456789"


def look(part: str) -> str:
    """Look."""
    return f"{part} walnut"


TOOLS = PythonTools([look])
SCRIPT: list[Any] = [
    calling(("look", {"part": 7})),
    Lost("timeout", "thunder"),
    calling(("look", {"part": "thunder"}), text="marigold"),
    saying("marigold"),
]


def whole_run() -> None:
    plan = Plan.of(model="m", messages="lighthouse", tools=TOOLS.surface, config=LoopConfig(stream="always"))
    run(plan, Ports(ScriptedEndpoint(SCRIPT), TOOLS, clock=InstantClock()))


def test_nothing_that_was_said_is_in_a_span_by_default() -> None:
    with instrumented() as heard:
        whole_run()
    shown = "".join(span.to_json() for span in heard.spans)
    assert [word for word in WORDS if word in shown] == []


def test_everything_is_there_for_those_who_ask() -> None:
    with instrumented(capture_content=True) as heard:
        whole_run()
    chats: list[Any] = [told(span) for span in heard.named("chat m")]
    assert json.loads(chats[0]["gen_ai.input.messages"]) == [
        {"role": "user", "parts": [{"type": "text", "content": "lighthouse"}]}
    ]
    assert json.loads(chats[0]["gen_ai.tool.definitions"]) == [
        {"type": "function", "name": "look", "description": "Look."}
    ]
    (said,) = json.loads(chats[-1]["gen_ai.output.messages"])
    text = {"type": "text", "content": "marigold"}
    assert said == {"role": "assistant", "parts": [text], "finish_reason": "stop"}
    history = json.loads(chats[-1]["gen_ai.input.messages"])
    assert [message["role"] for message in history] == ["user", "assistant", "tool", "assistant", "tool"]
    assert history[-1]["parts"][0]["response"]["data"] == {"value": "thunder walnut"}
    (call,) = [told(span) for span in heard.named("execute_tool look")]
    assert json.loads(call["gen_ai.tool.call.arguments"]) == {"part": "thunder"}
    assert json.loads(call["gen_ai.tool.call.result"]) == "thunder walnut"


def test_secrets_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", 'pass"word\\of-the-shop')
    echo = f'The key is {KEY}, the token pass"word\\of-the-shop, the header 8c1d77aa90efbb12.'
    with (
        instrumented(capture_content=True) as heard,
        serving(replying(saying(echo))) as server,
        HttpEndpoint(server.url, api_key="8c1d77aa90efbb12") as endpoint,
    ):
        ended = run(Plan.of(model="m", messages=f"Mine is {KEY}."), Ports(endpoint))
    assert KEY in ended.text
    (span,) = heard.named("chat m")
    said = json.loads(told(span)["gen_ai.output.messages"])[0]["parts"][0]["content"]
    for secret in (KEY, "8c1d77aa90efbb12", "of-the-shop"):
        assert secret not in "".join(each.to_json() for each in heard.spans)
    assert said.startswith("The key is [API key], the token [value of SHOP_TOKEN], the header [value of ")


@pytest.mark.parametrize(
    ("value", "captured"),
    [("", False), ("NO_CONTENT", False), ("false", False), ("true", True), ("SPAN_ONLY", True)],
)
def test_the_variable_of_the_conventions_decides(value: str, captured: bool) -> None:
    assert captures_content(None, {CONTENT_VARIABLE: value}) == captured
    assert captures_content(False, {CONTENT_VARIABLE: value}) is False
    assert captures_content(True, {CONTENT_VARIABLE: value}) is True


def test_another_value_of_the_variable_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONTENT_VARIABLE, "yes")
    with pytest.raises(ConfigError, match="expected NO_CONTENT or SPAN_ONLY, got 'yes'"):
        instrument()
