from __future__ import annotations

from dataclasses import dataclass, field

from toolreel_core._internal import brief_repr


@dataclass
class Said:
    text: str
    parts: tuple[int, ...] = ()
    secret: str = field(default="x", repr=False)


def test_optional_fields_are_shown_only_if_they_hold_something() -> None:
    assert brief_repr(Said("hi"), "parts") == "Said(text='hi')"
    assert brief_repr(Said("", (1,)), "parts") == "Said(text='', parts=(1,))"
    assert brief_repr(Said("")) == "Said(text='', parts=())"
