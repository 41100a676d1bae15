"""The events of a streamed reply in the form of Anthropic's Messages, joined into its body.

https://docs.anthropic.com/en/docs/build-with-claude/streaming. Events of unknown types are ignored, as the
form demands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from toolreel_core._jsontext import Json, Tree, as_tree, canonical, items_of, sound, tree_at
from toolreel_core._replies.streaming.stream import Delta
from toolreel_core._replies.wire_forms.assembly import Assembly, number_in
from toolreel_core._replies.wire_forms.joined_events import JoinedEvents
from toolreel_core._replies.wire_forms.messages import whole_blocks
from toolreel_core._replies.wire_forms.translated import type_of

_PIECES: Final[Mapping[str, tuple[str, str]]] = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
    "input_json_delta": ("tool_use", "partial_json"),
    "citations_delta": ("text", "citation"),
}
"""The type of the block that each delta belongs to, and the key of what it brings."""


@dataclass(frozen=True, slots=True)
class MessageEvents(JoinedEvents):
    """What the events so far say; it is complete when the reason why the reply ended is known."""

    def heard(self, event: Tree) -> tuple[MessageEvents, tuple[Delta, ...]]:
        """After one more event, and what to display of it."""
        match type_of(event):
            case "message_start":
                return self._begun(tree_at(event, "message")), ()
            case "content_block_start":
                return self._block(event)
            case "content_block_delta":
                return self._piece(event)
            case "content_block_stop":
                return replace(self, assembly=self.assembly.close(number_in(event, "index"))), ()
            case "message_delta":
                return self._ended(event), ()
            case "message_stop":
                return replace(self, over=True, complete=True), ()
            case kind if kind == "error" or event.get("error"):
                return self.failed(event), ()
            case _:
                return self, ()

    def calls(self) -> bool:
        """Whether there is a call in it."""
        return self.has("tool_use")

    def blocks(self) -> tuple[tuple[int, Tree], ...]:
        """The blocks so far, each with its place."""
        whole = whole_blocks({"content": [*self.assembly.values()]})
        return tuple(zip(sorted(self.assembly.begun), whole, strict=True))

    def body(self) -> Tree:
        """The body as if it had not been streamed."""
        failure: Tree = {"error": self.failure} if self.failure else {}
        return {"role": "assistant", **self.head, "content": [*self.assembly.values()], **failure}

    def _begun(self, message: Tree) -> MessageEvents:
        head = {key: value for key, value in message.items() if key != "content" and value is not None}
        blocks = self.assembly
        for place, block in enumerate(items_of(message, "content")):
            blocks = blocks.open(as_tree(block), place)
        return replace(self, head={**self.head, **head}, assembly=blocks)

    def _block(self, event: Tree) -> tuple[MessageEvents, tuple[Delta, ...]]:
        block = tree_at(event, "content_block")
        at = replace(self, assembly=self.assembly.open(block, number_in(event, "index")))
        match block:
            case {"type": "text", "text": str() as text} if text:
                return at, (Delta("content", sound(text)),)
            case {"type": "thinking", "thinking": str() as text} if text:
                return at, (Delta("reasoning", sound(text)),)
            case {"type": "tool_use", "name": str() as name} if name:
                return at, at.announced("tool_use", name, block.get("id"))
            case _:
                return at, ()

    def _piece(self, event: Tree) -> tuple[MessageEvents, tuple[Delta, ...]]:
        delta = tree_at(event, "delta")
        kind, key = _PIECES.get(type_of(delta), ("", ""))
        given = delta.get(key)
        # Some gateways send the input as the object that it is.
        text = canonical(given) if isinstance(given, Mapping) and key == "partial_json" else given
        if not text:
            return self, ()
        blocks = _opened(self.assembly, number_in(event, "index"), kind)
        if key == "citation":
            return replace(self, assembly=_cited(blocks, text)), ()
        if not isinstance(text, str):
            return self, ()
        at = replace(self, assembly=blocks.add(blocks.latest, key, text))
        match key:
            case "text":
                return at, (Delta("content", sound(text)),)
            case "thinking":
                return at, (Delta("reasoning", sound(text)),)
            case "partial_json" if type_of(blocks.begun[blocks.latest]) in {"tool_use", ""}:
                return at, at.arguments("tool_use", text)
            case _:
                return at, ()

    def _ended(self, event: Tree) -> MessageEvents:
        delta = {key: value for key, value in tree_at(event, "delta").items() if value is not None}
        # A count of the first event stays where the last one has none (envoyproxy/ai-gateway#1631).
        counts = {key: value for key, value in tree_at(event, "usage").items() if value}
        usage = {**tree_at(event, "usage"), **tree_at(self.head, "usage"), **counts}
        head = {**self.head, **delta, **({"usage": usage} if usage else {})}
        return replace(self, head=head, complete=self.complete or bool(delta.get("stop_reason")))


def _opened(blocks: Assembly, index: int | None, kind: str) -> Assembly:
    """The blocks, the newest of them the one that a piece of this kind belongs to.

    Some gateways count the index wrong (Oaklight/llm-rosetta#246), so a block of another type is passed over.
    """
    meant = blocks.latest if index is None else blocks.place(index)
    for place in () if meant is None else (meant, blocks.latest):
        if place in blocks.begun and _takes(blocks.begun[place], kind):
            return replace(blocks, latest=place)
    return blocks.open({"type": kind}, index)


def _takes(block: Tree, kind: str) -> bool:
    given = type_of(block)
    # Tools of the server have a type of their own, and an input as well.
    return given in {kind, ""} or (kind == "tool_use" and given.endswith(kind))


def _cited(blocks: Assembly, citation: Json) -> Assembly:
    block = blocks.begun[blocks.latest]
    cited = {**block, "citations": [*items_of(block, "citations"), citation]}
    return replace(blocks, begun=blocks.begun.set(blocks.latest, cited))
