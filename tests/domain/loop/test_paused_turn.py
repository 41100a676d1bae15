"""Turns that a server pauses while its own tools run: the reply goes back, and the turn goes on."""

from __future__ import annotations

import json
from typing import Any

from tests.playbook import Playbook, asks, at, finishes, replies_with
from toolreel_core._conversation import AssistantMessage
from toolreel_core._jsontext import Json, canonical
from toolreel_core._loop import pending
from toolreel_core._plan import Plan
from toolreel_core._protocol import Completed, MaxTurns, SendRequest, dump, load_state
from toolreel_core._settings import LoopConfig, Provider
from toolreel_core._tools import ToolDefinition

SEARCH: dict[str, Json] = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "pins"},
}
TEXT: dict[str, Json] = {"type": "text", "text": "Searching."}


def said(*blocks: Json, stop: str = "end_turn") -> Any:  # noqa: ANN401 - an answer of the playbook
    return replies_with({"role": "assistant", "content": [*blocks], "stop_reason": stop})


def plan(**settings: object) -> Plan:
    config = LoopConfig.of(settings)
    tools = [ToolDefinition("ping")]
    return Plan.of(
        model="m", messages="hi", tools=tools, provider=Provider(wire_form="messages"), config=config
    )


def paused(content: str, *blocks: Json) -> AssistantMessage:
    return AssistantMessage(content, extras=canonical({"messages_blocks": [*blocks]}))


def sent(book: Playbook) -> list[Any]:
    (effect,) = pending(book.state)
    assert isinstance(effect, SendRequest)
    messages: list[Any] = json.loads(effect.request.body)["messages"]
    return messages


def test_a_paused_turn_goes_back_as_it_came_and_goes_on() -> None:
    book = Playbook(plan())
    book.play_up_to(asks(), said(TEXT, SEARCH, stop="pause_turn"), asks(paused("Searching.", TEXT, SEARCH)))
    assert sent(book) == [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [TEXT, SEARCH]}]
    book.play(said({"type": "text", "text": "There are 4."}), finishes(Completed("There are 4.")))


def test_it_may_have_no_text() -> None:
    book = Playbook(plan())
    book.play_up_to(asks(), said(SEARCH, stop="pause_turn"), asks(paused("", SEARCH)))
    assert sent(book)[-1] == {"role": "assistant", "content": [SEARCH]}
    assert load_state(dump(book.state)) == book.state
    book.play(said({"type": "text", "text": "4."}), finishes(Completed("4.")))


def test_it_may_pause_again_until_the_turns_are_used_up() -> None:
    again = said(SEARCH, stop="pause_turn")
    Playbook(plan(max_turns=2)).play(
        asks(), again, asks(paused("", SEARCH)), at(5, again), finishes(MaxTurns(2))
    )


def test_a_call_beside_it_runs() -> None:
    call: Json = {"type": "tool_use", "id": "toolu_1", "name": "pong", "input": {}}
    book = Playbook(plan(max_turns=1))
    book.play(asks(), said(SEARCH, call, stop="pause_turn"), finishes(MaxTurns(1)))
    (message,) = book.state.messages.messages[1:2]
    assert isinstance(message, AssistantMessage)
    assert [one.name for one in message.calls] == ["pong"]
