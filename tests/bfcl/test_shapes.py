"""Every wire shape through the loop over the real server, with tools of a few lines: no package is needed."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from typing import Final

import httpx
import pytest

from benchmarks.bfcl.model import DONE, WAYS, Line, Script, Way, serving
from benchmarks.bfcl.shapes import SHAPES, Asked
from benchmarks.bfcl.strategies import Strategy, plan
from toolreel import Ports, Run, run
from toolreel.http import HttpEndpoint
from toolreel_core._conversation import AssistantMessage, Message, UserMessage
from toolreel_core._jsontext import Json, canonical, parse
from toolreel_core._protocol import Completed, RunTool, ToolReturned
from toolreel_core._tools import ToolDefinition, ToolSurface

CALLS: Final = (
    Asked("call_0_0", "note", {"text": 'say "hé", \\ and <b>', "lines": [1, 2.5, None]}),
    Asked("call_0_1", "list_notes", {}),
    Asked("call_0_2", "note", {"text": "second", "tags": {"a": {"b": True}}}),
)
SCRIPT: Final[Script] = {
    "case/0": Line("Write two notes.", CALLS),
    "case/1": Line("And list them.", (Asked("call_1_0", "list_notes", {}),)),
    "case/2": Line("Thanks.", ()),
}
ANY: Final[Mapping[str, Json]] = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS: Final = ToolSurface(
    (ToolDefinition.of("note", "Write a note.", ANY), ToolDefinition.of("list_notes", "List notes.", ANY))
)
KNOWN_TO_BREAK: Final = (
    "function-call",
    "calls-object",
    "arguments-object",
    "arguments-twice",
    "arguments-fenced",
    "content-parts",
    "text-tags",
)
"""Shapes that the loop alone does not read."""


class Notebook:
    """A tool host that keeps what it was asked."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, Json]] = []

    def run(self, effect: RunTool) -> ToolReturned:
        self.ran.append((effect.name, parse(effect.arguments)))
        return ToolReturned(effect.ref, canonical({"notes": len(self.ran)}))


def talked(shape: str, strategy: Strategy, way: Way) -> tuple[list[tuple[str, Json]], list[Run]]:
    """What was asked of the tools in a conversation of three turns, and the turns."""
    notebook, said, turns = Notebook(), tuple[Message, ...](), list[Run]()
    transport = httpx.HTTPTransport(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    with (
        serving(SCRIPT, SHAPES[shape], way) as url,
        HttpEndpoint(url, transport=transport) as endpoint,
    ):
        for name, line in SCRIPT.items():
            messages = (*said, UserMessage(line.cue))
            asked = plan(strategy, model=name, messages=messages, tools=TOOLS)
            turns.append(run(asked, Ports(endpoint, notebook)))
            said = tuple(turns[-1].state.messages.messages)
    return notebook.ran, turns


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", SHAPES)
def test_with_the_shipped_presets_every_call_of_every_shape_is_made_once_and_in_order(
    shape: str, way: Way
) -> None:
    ran, turns = talked(shape, "production", way)
    wanted = [(call.name, call.arguments) for line in SCRIPT.values() for call in line.calls]
    assert ran == wanted
    assert [turn.outcome for turn in turns] == [Completed(DONE)] * 3
    sent = [json.loads(text) for text in turns[-1].state.messages.texts]
    ids = [call["id"] for message in sent for call in message.get("tool_calls", ())]
    assert len(ids) == len({*ids}) == len(wanted)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_loop_alone_makes_them_where_the_shape_is_near_the_documented_one(shape: str, way: Way) -> None:
    ran, _ = talked(shape, "raw", way)
    assert bool(ran) == (shape not in KNOWN_TO_BREAK)


def test_batched_means_all_calls_in_one_reply_where_the_shape_can_hold_them() -> None:
    def replies(shape: str, way: Way) -> list[int]:
        first, *_ = talked(shape, "production", way)[1]
        heard = (one for one in first.state.messages.messages if isinstance(one, AssistantMessage))
        return [len(message.calls) for message in heard]

    assert replies("canonical", "batched") == [3, 0]
    assert replies("canonical", "sequential") == [1, 1, 1, 0]
    assert replies("function-call", "batched") == [1, 1, 1, 0]
