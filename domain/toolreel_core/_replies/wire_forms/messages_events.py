"""The events of a streamed reply in the form of Anthropic's Messages, joined into its body.

https://docs.anthropic.com/en/docs/build-with-claude/streaming. Events of unknown types are ignored, as the
form demands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from toolreel_core._jsontext.canonical import Json, Tree, sound
from toolreel_core._jsontext.tree_access import as_tree, items_of, tree_at
from toolreel_core._replies.streaming.stream import Delta
from toolreel_core._replies.wire_forms.assembly import Assembly, number_in

_PIECES: Final[Mapping[Json, tuple[str, str]]] = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
    "input_json_delta": ("tool_use", "partial_json"),
}
"""The type of the block that each delta belongs to, and the key of its text."""


@dataclass(frozen=True, slots=True)
class MessageEvents:
    """What the events so far say."""

    head: Mapping[str, Json] = field(default_factory=dict)
    """Fields of the message, without its content."""
    blocks: Assembly = field(default_factory=Assembly)
    latest: int = 0
    """The block of the newest event, for servers that leave out its index."""
    failure: Json = None
    complete: bool = False
    """Whether the reason why the reply ended is known."""
    over: bool = False

    def heard(self, event: Tree) -> tuple[MessageEvents, tuple[Delta, ...]]:
        """After one more event, and what to display of it."""
        match event.get("type"):
            case "message_start":
                return self._begun(tree_at(event, "message")), ()
            case "content_block_start":
                return self._block(event)
            case "content_block_delta":
                return self._piece(event)
            case "message_delta":
                return self._ended(event), ()
            case "message_stop":
                return replace(self, over=True, complete=True), ()
            case "error":
                return replace(self, failure=event.get("error") or event, over=True), ()
            case _ if event.get("error"):
                return replace(self, failure=event["error"], over=True), ()
            case _:
                return self, ()

    def calls(self) -> bool:
        """Whether there is a call in it."""
        return any(block.get("type") == "tool_use" for block in self.blocks.values())

    def body(self) -> Tree:
        """The body as if it had not been streamed."""
        failure: Tree = {"error": self.failure} if self.failure else {}
        return {"role": "assistant", **self.head, "content": [*self.blocks.values()], **failure}

    def _begun(self, message: Tree) -> MessageEvents:
        head = {key: value for key, value in message.items() if key != "content" and value is not None}
        blocks = self.blocks
        for place, block in enumerate(items_of(message, "content")):
            blocks = blocks.begin(place, as_tree(block))
        return replace(self, head={**self.head, **head}, blocks=blocks)

    def _block(self, event: Tree) -> tuple[MessageEvents, tuple[Delta, ...]]:
        place = number_in(event, "index", len(self.blocks.begun))
        block = tree_at(event, "content_block")
        at = replace(self, blocks=self.blocks.begin(place, block), latest=place)
        match block:
            case {"type": "text", "text": str() as text} if text:
                return at, (Delta("content", sound(text)),)
            case {"type": "thinking", "thinking": str() as text} if text:
                return at, (Delta("reasoning", sound(text)),)
            case {"type": "tool_use", "name": str() as name} if name:
                id_ = block.get("id")
                number = at.blocks.before(place, "tool_use")
                return at, (
                    Delta("tool_call", sound(name), number, id_ if isinstance(id_, str) else "", sound(name)),
                )
            case _:
                return at, ()

    def _piece(self, event: Tree) -> tuple[MessageEvents, tuple[Delta, ...]]:
        place = number_in(event, "index", self.latest)
        delta = tree_at(event, "delta")
        if delta.get("type") == "citations_delta":
            return self._cited(place, delta.get("citation")), ()
        kind, key = _PIECES.get(delta.get("type"), ("", ""))
        text = delta.get(key)
        if not isinstance(text, str) or not text:
            return self, ()
        at = replace(self, blocks=self.blocks.add(place, key, text, of=kind), latest=place)
        match key:
            case "text":
                return at, (Delta("content", sound(text)),)
            case "thinking":
                return at, (Delta("reasoning", sound(text)),)
            case "partial_json":
                return at, (Delta("tool_call", sound(text), at.blocks.before(place, "tool_use")),)
            case _:
                return at, ()

    def _cited(self, place: int, citation: Json) -> MessageEvents:
        block = self.blocks.begun.get(place, {"type": "text"})
        cited = {**block, "citations": [*items_of(block, "citations"), citation]}
        return replace(self, blocks=replace(self.blocks, begun=self.blocks.begun.set(place, cited)))

    def _ended(self, event: Tree) -> MessageEvents:
        delta = {key: value for key, value in tree_at(event, "delta").items() if value is not None}
        usage = {**tree_at(self.head, "usage"), **tree_at(event, "usage")}
        head = {**self.head, **delta, **({"usage": usage} if usage else {})}
        return replace(self, head=head, complete=self.complete or bool(delta.get("stop_reason")))
