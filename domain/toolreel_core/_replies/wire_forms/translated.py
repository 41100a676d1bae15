"""A reply of another form, as chat completions would have said it."""

from __future__ import annotations

from typing import NamedTuple

from toolreel_core._jsontext import NOTHING, Json, JsonText, Tree


def type_of(value: Tree) -> str:
    """The type of an event, an item or a block; empty where it says none, or no text."""
    given = value.get("type")
    return given if isinstance(given, str) else ""


class Translated(NamedTuple):
    """A body in the chat-completions form."""

    body: Json
    carry: JsonText = NOTHING
    """What has to go back with the message in the form that it came in: a JSON object."""
    paused: bool = False
    """Whether the server has paused its turn, and goes on when the message is sent back."""
