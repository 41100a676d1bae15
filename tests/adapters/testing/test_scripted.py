from __future__ import annotations

import json
from dataclasses import replace
from typing import cast

from tests.adapters.tools.python.test_host import call
from tests.samples import PLAN, complaint
from tests.servers.chat_server import asking
from toolreel._driver import Ports, run
from toolreel.testing import Lost, ScriptedEndpoint, ScriptedTools, calling, saying, streaming
from toolreel_core._conversation import AssistantMessage, SentCall
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import Json, canonical
from toolreel_core._protocol import (
    Completed,
    InvalidReply,
    RepairApplied,
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


def test_an_endpoint_that_is_asked_too_often_says_which_request_it_was() -> None:
    endpoint = ScriptedEndpoint([saying("hello")])
    endpoint.send(asking())
    assert complaint(ReplayMismatch, lambda: endpoint.send(asking())) == (
        "request 2 was sent, but the script has no reply left for it"
    )


def test_an_endpoint_that_is_not_asked_for_all_fails_at_the_end() -> None:
    endpoint = ScriptedEndpoint([saying("one"), saying("two")])
    assert complaint(ReplayMismatch, endpoint.finish) == "2 replies of the script were never asked for"


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


def test_a_call_without_an_output_is_shown() -> None:
    tools = ScriptedTools({"roll": [6]})
    tools.run(call("roll"))
    for name in ("roll", "fly"):
        assert complaint(ReplayMismatch, lambda name=name: tools.run(call(name, far=1))) == (  # type: ignore[misc]
            f'{name}({{"far":1}}) was called, but the script has no output for it'
        )


def test_outputs_that_nobody_asked_for_are_counted_by_tool() -> None:
    tools = ScriptedTools({"roll": [6, 6, 6], "ping": ["pong"], "none": []})
    tools.run(call("roll"))
    assert complaint(ReplayMismatch, tools.finish) == (
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


def test_what_is_called_is_read_as_calls_with_ids_of_their_own() -> None:
    script = [calling(("echo", {"text": "1"}), ("ping", {}), text="Wait."), saying("Done.")]
    ended = run(PLAN, Ports(ScriptedEndpoint(script), ScriptedTools({"echo": [1], "ping": [2]})))
    assert ended.state.messages.messages[1] == AssistantMessage(
        "", (SentCall("call_a", "echo", '{"text":"1"}'), SentCall("call_b", "ping", "{}"))
    )
    assert not [note for note in ended.notes if isinstance(note, RepairApplied)]
