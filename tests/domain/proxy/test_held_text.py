"""What passes of a text at once, and what waits."""

from __future__ import annotations

import time

import pytest

from toolreel_core._proxy import HeldText
from toolreel_core._text_calls import BARE, MARKED


def shown(text: str, dialects: tuple[str, ...] = MARKED, size: int = 1) -> str:
    """What has passed of a text that comes in pieces."""
    held, passed = HeldText(dialects, ("stock",)), ""
    for at in range(0, len(text), size):
        held, piece = held.feed(text[at : at + size])
        passed += piece
    return passed


def test_everything_passes_where_no_call_is_read() -> None:
    assert shown("\n<tool_call> ", ()) == "\n<tool_call> "


@pytest.mark.parametrize("size", [1, 3, 1_000])
@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("There are 4 pins.", "There are 4 pins."),
        ("\n\n Four. \n", "Four."),
        ('Looking.\n<tool_call>{"name"', "Looking."),
        ("Use `<tool_call>` so", "Use `"),
        ("a < b and a <div>bold</div> move", "a < b and a <div>bold</div> move"),
        ("See [the docs](x) and [all of it, at length].", "See [the docs](x) and [all of it, at length]."),
        ("<think>Hm", ""),
        ("Hand it to=functions.stock", "Hand it"),
        ("Give it to him", "Give it to him"),
        ('{"answer": 4, "more": true}', '{"answer": 4, "more": true}'),
        ('{"name": "stock", "arguments"', ""),
        ("Four<|im_e", "Four"),
    ],
)
def test_text_passes_up_to_the_first_sign_of_a_call(text: str, passed: str, size: int) -> None:
    assert shown(text, size=size) == passed


@pytest.mark.parametrize("size", [1, 1_000])
@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("Four.", "Four."),
        ('[{"name"', ""),
        ("I will look.\nAction: stock", "I will look."),
        ("stock\n{", ""),
        ("sto", ""),
        ("storage is full", "storage is full"),
        ("store\nis open", "store\nis open"),
    ],
)
def test_bare_dialects_hold_what_may_be_a_whole_call(text: str, passed: str, size: int) -> None:
    assert shown(text, BARE, size) == passed


def test_a_sign_that_leads_to_nothing_passes_after_a_while() -> None:
    assert shown("<x " + "y" * 200) == "<x " + "y" * 200


def test_blanks_take_linear_time() -> None:
    held = HeldText(MARKED)
    before = time.process_time()
    for _ in range(20_000):
        held, piece = held.feed("          ")
        assert piece == ""
    # Copying them with each piece would take 20,000 * 100 kB = 2 GB.
    assert held.tail == ""
    assert len(held.waiting) > 10_000
    assert time.process_time() - before < 30
