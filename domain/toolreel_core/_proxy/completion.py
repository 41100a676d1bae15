"""A repaired reply, ready to be written in another form than chat completions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from toolreel_core._conversation import SentCall
from toolreel_core._jsontext import Json, Tree, as_tree, items_of, tree_at
from toolreel_core._replies import Usage

_NO_USAGE: Final = Usage()


@dataclass(frozen=True, slots=True)
class Completion:
    """What a form needs to write a reply."""

    id: str
    created: int
    model: str
    text: str
    thought: str
    calls: tuple[SentCall, ...]
    finish: str
    """In the words of chat completions."""
    refused: bool
    usage: Usage = _NO_USAGE
    own: Tree = field(default_factory=dict)
    """The upstream's body, if it has spoken this form: what was not repaired stays as it is there."""
    asked: Tree = field(default_factory=dict)
    """The client's body."""

    @classmethod
    def of(cls, body: Tree, usage: Usage, own: Tree, asked: Tree) -> Completion:
        """From a chat completion with one choice, or without one before anything is known.

        :param own: the upstream's body, if it has spoken the form that is to be written
        """
        choice = as_tree(next(iter(items_of(body, "choices")), None))
        message = tree_at(choice, "message")
        refusal = message.get("refusal")
        created = body.get("created")
        return cls(
            str(body.get("id", "")),
            created if isinstance(created, int) else 0,
            str(body.get("model", "")),
            _content_text(refusal) or _content_text(message.get("content")),
            _content_text(message.get("reasoning_content")),
            tuple(_sent_calls(message)),
            str(choice.get("finish_reason", "")),
            bool(refusal),
            usage,
            own,
            asked,
        )


def _content_text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _sent_calls(message: Tree) -> Iterator[SentCall]:
    for entry in map(as_tree, items_of(message, "tool_calls")):
        match entry.get("function"):
            case {"name": str() as name, "arguments": str() as arguments}:
                yield SentCall(_content_text(entry.get("id")), name, arguments)
            case _:  # a tool without a schema, which stays among the items
                continue
