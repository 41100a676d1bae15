from __future__ import annotations

from dataclasses import replace

import pytest

from toolreel_core._loop import Claim, claimed_effect
from toolreel_core._plan import Plan
from toolreel_core._protocol import DoneCall, Memory, State
from toolreel_core._tools import ToolDefinition, ToolSurface

TOOLS = [
    ToolDefinition("mail.send_message"),
    ToolDefinition("createEvent"),
    ToolDefinition("add_item"),
    ToolDefinition("find_contact", read_only=True),
    ToolDefinition("open_page", read_only=True),
    ToolDefinition("close_ticket", exposed=False),
]
NOTHING = State.idle(Plan.of(model="m", messages="hi", tools=ToolSurface(tuple(TOOLS))))


def after(*names: str) -> State:
    """A run in which these tools have succeeded."""
    return replace(NOTHING, memory=Memory(done=tuple(DoneCall(name, name, name) for name in names)))


@pytest.mark.parametrize(
    ("answer", "tools"),
    [
        ("I have sent the message to Ann.", ("mail_send_message",)),
        ("I've sent it.", ("mail_send_message",)),
        ("I’ve sent it.", ("mail_send_message",)),
        ("The message has been sent.", ("mail_send_message",)),
        ("Message successfully sent!", ("mail_send_message",)),
        ("Sent.", ("mail_send_message",)),
        ("Ann has been notified.", ("mail_send_message",)),
        ("Your event is now scheduled for Friday.", ("createEvent",)),
        ("All right. The event has been created", ("createEvent",)),
        ("Milk has been added.", ("createEvent", "add_item")),
        ("Not everything worked. I added milk.", ("createEvent", "add_item")),
    ],
)
def test_a_claim_that_no_call_supports(answer: str, tools: tuple[str, ...]) -> None:
    claim = claimed_effect(NOTHING, answer)
    assert isinstance(claim, Claim)
    assert claim.tools == tools
    assert claim.words in answer


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Hello!",
        "It is 4 degrees in Oslo.",
        "I have not sent the message.",
        "I haven't sent it.",
        "I could not get it sent.",
        "Nothing has been sent.",
        "I was unable to have it sent.",
        "Sent? I have no tool for that.",
        "Has it been sent?",
        "Once you confirm, it is sent.",
        "If you want, I have it sent.",
        "I will have it sent.",
        "I'll have it sent.",
        "The message should have been sent on Monday.",
        "You have sent three messages.",
        "The order was sent on Monday.",
        "She has sent you a letter.",
        "A letter sent from Rome costs more.",
        "The page has opened.",
        "The ticket has been closed.",
        "The room has been painted.",
        "I found the number 555-0142.",
    ],
)
def test_an_honest_answer_claims_nothing(answer: str) -> None:
    assert claimed_effect(NOTHING, answer) is None


def test_a_claim_is_supported_by_any_tool_that_does_it() -> None:
    assert claimed_effect(after("add_item"), "I have added it.") is None
    assert claimed_effect(after("createEvent"), "I have added it.") is None
    assert claimed_effect(after("find_contact"), "I have added it.") is not None


def test_each_claim_of_an_answer_needs_its_call() -> None:
    answer = "I have added milk, and I have sent the message."
    claim = claimed_effect(after("add_item"), answer)
    assert claim == Claim(answer, ("mail_send_message",))
    assert claimed_effect(after("add_item", "mail.send_message"), answer) is None


def test_a_long_sentence_is_shortened() -> None:
    claim = claimed_effect(NOTHING, "I have sent " + "x" * 500)
    assert claim is not None
    assert len(claim.words) == 120
