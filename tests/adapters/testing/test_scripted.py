from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import cast

from tests.adapters.tools.python.test_host import call
from tests.samples import PLAN, complaint
from tests.servers.chat_server import asking
from toolreel._driver import Ports, run
from toolreel.testing import Lost, ScriptedEndpoint, ScriptedTools, calling, saying, streaming
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import Json, canonical
from toolreel_core._protocol import (
    Completed,
    InvalidReply,
    ReplyReceived,
    RequestFailed,
    ToolReturned,
)
from toolreel_core._replies import Delta
from toolreel_core._settings import LoopConfig


def test_an_endpoint_says_its_lines_in_order_and_keeps_what_it_was_asked() -> None:
    endpoint = ScriptedEndpoint(["<html>", saying("hello"), Lost("status", "HTTP 500: oops", 500)])
    asked = [asking("one", ref=1), asking("two", ref=3), asking("three", ref=5)]
    assert [endpoint.send(effect) for effect in asked] == [
        ReplyReceived(1, 200, "<html>"),
        ReplyReceived(3, 200, canonical(saying("hello"))),
        RequestFailed(5, "status", "HTTP 500: oops", 500),
    ]
    endpoint.finish()
    assert endpoint.asked == asked
    assert complaint(ReplayMismatch, lambda: endpoint.send(asking())) == (
        "request 4 was sent, but the script has no reply left for it"
    )
    unused = ScriptedEndpoint([saying("one"), saying("two")])
    assert complaint(ReplayMismatch, unused.finish) == "2 replies of the script were never asked for"


def test_calls_are_numbered_over_the_whole_script() -> None:
    ping = ("ping", dict[str, Json]())
    script = [calling(ping), calling(ping, ping, text="Two."), calling(*[ping] * 24), saying("Done.")]
    endpoint = ScriptedEndpoint(script)
    bodies = [json.loads(cast("ReplyReceived", endpoint.send(asking())).body) for _ in range(3)]
    messages = [body["choices"][0]["message"] for body in bodies]
    ids = [[call["id"] for call in message["tool_calls"]] for message in messages]
    assert ids[:2] == [["call_a"], ["call_b", "call_c"]]
    assert (ids[2][0], ids[2][-2:]) == ("call_d", ["call_z", "call_aa"])
    assert messages[1]["content"] == "Two."


def test_tools_return_their_outputs_in_order_and_keep_what_they_were_asked() -> None:
    tools = ScriptedTools({"roll": [6, {"ok": False}], "ping": ["pong"]})
    asked = [call("roll"), call("ping"), call("roll", sides=8)]
    assert [tools.run(effect) for effect in asked] == [
        ToolReturned(4, "6"),
        ToolReturned(4, '"pong"'),
        ToolReturned(4, '{"ok":false}'),
    ]
    tools.finish()
    assert tools.ran == asked
    for name in ("roll", "fly"):
        assert complaint(ReplayMismatch, partial(tools.run, call(name, far=1))) == (
            f'{name}({{"far":1}}) was called, but the script has no output for it'
        )
    unused = ScriptedTools({"roll": [6, 6], "ping": ["pong"], "none": []})
    assert complaint(ReplayMismatch, unused.finish) == (
        "outputs of the script were never asked for: 2 of roll, 1 of ping"
    )


def test_what_is_streamed_is_heard_piece_by_piece_and_read_as_a_final_answer() -> None:
    heard: list[Delta] = []
    cut = InvalidReply("PROVIDER_ERROR", "the stream ended before the reply was complete")
    for finish, outcome in (("stop", Completed("Done.")), ("", cut)):
        endpoint = ScriptedEndpoint([streaming("Do", "ne.", finish=finish)], on_delta=heard.append)
        plan = replace(PLAN, config=LoopConfig(max_tries=1))
        assert run(plan, Ports(endpoint, ScriptedTools({}))).outcome == outcome
    assert heard == [Delta("content", "Do"), Delta("content", "ne.")] * 2
