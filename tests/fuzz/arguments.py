"""Arguments of a call: whatever text they are, an object or a reason why not; what was cut is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.fuzz.claims import claim_arguments, claim_warnings, twice
from tests.fuzz.draw import Draw
from tests.fuzz.trees import json_object
from toolreel_core._jsontext import ArgumentRepairs, Json, JsonText, canonical
from toolreel_core._replies import read_arguments

_DEPTH = 64
_REPAIRS: tuple[ArgumentRepairs, ...] = ("safe", "strict", "lenient")
_NOTATIONS: tuple[Callable[[Mapping[str, Json]], str], ...] = (
    canonical,
    lambda tree: canonical(canonical(tree)),
    repr,
    lambda tree: f"```json\n{canonical(tree)}",
    lambda tree: f"\ufeff {canonical(tree)[:-1]} /* all */ }}",
)
"""How a model may write an object. Each is unreadable as long as its last bracket has not come."""


def check(data: bytes) -> None:
    """What holds for any text, or for a cut one that was made from an object."""
    draw = Draw(data)
    repairs = draw.one_of(_REPAIRS)
    if draw.one_of((False, True)):
        _check_cut(draw, repairs)
    else:
        _check_any(draw.rest(), repairs)


def _check_any(text: str, repairs: ArgumentRepairs) -> None:
    got = twice(lambda: read_arguments(text, max_depth=_DEPTH, repairs=repairs))
    claim_arguments(got.value, depth=_DEPTH)
    claim_warnings(got.warnings)
    assert got.original == text, "the text that the model wrote was changed"
    if isinstance(got.value, JsonText):
        again = read_arguments(got.value, max_depth=_DEPTH, repairs="strict")
        assert again.value == got.value, "what was read does not stand when it is read again"


def _check_cut(draw: Draw, repairs: ArgumentRepairs) -> None:
    write = draw.one_of(_NOTATIONS)
    place = draw.number(1 << 16)
    text = write(json_object(draw)).rstrip()
    # What has not begun, or has only begun to be fenced, says nothing, which is an empty object.
    begin = text.index("{") + 1
    cut = text[: begin + place % (len(text) - begin)]
    got = read_arguments(cut, max_depth=_DEPTH, repairs=repairs)
    assert not isinstance(got.value, JsonText), f"arguments that were cut would run: {cut!r}"
