"""A reply in the form of Anthropic's Messages, as one of chat completions.

https://docs.anthropic.com/en/api/messages. The blocks are read as servers and gateways really write them:
a text in place of the list, blocks without a type, an ``input`` that is text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from toolreel_core._jsontext import (
    NOTHING,
    Json,
    JsonText,
    Tree,
    as_list,
    as_tree,
    canonical,
    finite,
    items_of,
    read,
    text_at,
    tree_at,
)
from toolreel_core._replies.event_assembly import (
    BlockEvents,
    Delta,
    DeltaKind,
    ReadAsChat,
    completion,
    number_in,
    type_of,
)
from toolreel_core._settings import MESSAGES_BLOCKS

_HEAD: Final = ("id", "model", "provider", "error")
_PIECES: Final = "partial_json"
"""Where the assembled stream has the text of an ``input``."""
_INPUTS: Final = (_PIECES, "input", "arguments", "parameters")
_PAUSED: Final = "pause_turn"
_FINISHES: Final[Mapping[str, str]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "refusal": "stop",
    _PAUSED: "stop",
}
"""The words of chat completions for these reasons; an ordinary reply is read faster in its own."""
_REFUSED: Final = "The model refuses to answer."


def chat_of_message(body: Json) -> ReadAsChat:
    """The reply as a chat completion; unchanged if it is none of this form."""
    if not isinstance(body, Mapping) or "content" not in body or "choices" in body:
        return ReadAsChat(body)
    blocks = _content_blocks(body["content"])
    calls: list[Json] = []
    texts: dict[str, list[str]] = {"text": [], "thinking": []}
    for block in blocks:
        kind = _block_type(block)
        if kind == "tool_use":
            given = next((block[key] for key in _INPUTS if block.get(key) is not None), {})
            # An object is what the form documents, so its text is no repair.
            arguments = canonical(finite(given)) if isinstance(given, Mapping) else given
            function: Tree = {"name": block.get("name"), "arguments": arguments}
            calls.append({"id": block.get("id"), "type": "function", "function": function})
        elif kind in texts:
            texts[kind].append(text_at(block, kind))
    text, refusal = "".join(texts["text"]), ""
    if body.get("stop_reason") == "refusal":
        refusal = text or text_at(tree_at(body, "stop_details"), "explanation").strip() or _REFUSED
    head = {key: body[key] for key in _HEAD if body.get(key)}
    usage: Tree = {}
    if isinstance(counts := body.get("usage"), Mapping):
        # In the counts of chat completions, what the cache holds is part of the prompt.
        cached, written = counts.get("cache_read_input_tokens"), counts.get("cache_creation_input_tokens")
        prompt = [count for count in (counts.get("input_tokens"), cached, written) if type(count) is int]
        usage = {
            "usage": {
                **counts,
                "prompt_tokens": sum(prompt),
                "completion_tokens": counts.get("output_tokens"),
            }
        }
    reason = body.get("stop_reason")
    finish = _FINISHES.get(reason, reason) if isinstance(reason, str) else reason
    chat = completion(
        {**head, **usage},
        text,
        finish,
        role=body.get("role", "assistant"),
        thinking="".join(texts["thinking"]),
        tool_calls=calls,
        refusal=refusal,
    )
    return ReadAsChat(chat, carry=carried_in_messages(blocks), paused=reason == _PAUSED)


def whole_blocks(body: Tree) -> list[Tree]:
    """The blocks of a reply as documented, each with its type."""
    return [
        {**_joined_block(block), "type": _block_type(block)} for block in _content_blocks(body.get("content"))
    ]


def _content_blocks(content: Json) -> list[Tree]:
    """The blocks of a content; a text in the place of a block is one of text."""
    return [
        block if isinstance(block, Mapping) else {"type": "text", "text": block}
        for block in as_list(content)
        if block is not None
    ]


def _block_type(block: Tree) -> str:
    """The type of a block; where it has none, what it holds tells."""
    if kind := type_of(block):
        return kind
    if "name" in block and not {*_INPUTS}.isdisjoint(block):
        return "tool_use"
    return next((key for key in ("text", "thinking") if key in block), "")


def carried_in_messages(blocks: Sequence[Tree]) -> JsonText:
    """The blocks that go back unchanged, with the places of the calls; nothing if all is text and calls."""
    if all(_block_type(block) in {"text", "tool_use"} and "citations" not in block for block in blocks):
        return NOTHING
    said = {"id", "name", *_INPUTS}
    kept = [
        # A call goes back without what the message says of it.
        {key: value for key, value in block.items() if key not in said}
        if _block_type(block) == "tool_use"
        else _joined_block(block)
        for block in blocks
    ]
    return canonical(finite({MESSAGES_BLOCKS: kept}))


def _joined_block(block: Tree) -> Tree:
    """A block whose input came in pieces, as the server would have written it."""
    pieces = block.get(_PIECES)
    if not isinstance(pieces, str):
        return block
    rest = {key: value for key, value in block.items() if key != _PIECES}
    given = read(pieces).value_or(None)
    return {**rest, "input": given} if isinstance(given, Mapping) else rest


_SHOWN: Final[Mapping[str, DeltaKind]] = {"text": "content", "thinking": "reasoning", "tool_use": "tool_call"}
"""How the text of a block is displayed."""
_DELTAS: Final[Mapping[str, tuple[str, str]]] = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
    "input_json_delta": ("tool_use", "partial_json"),
    "citations_delta": ("text", "citation"),
}
"""The type of the block that each delta belongs to, and the key of what it brings."""


@dataclass(frozen=True, slots=True)
class MessageEvents(BlockEvents):
    """What the events so far say; it is complete when the reason why the reply ended is known."""

    call_type = "tool_use"

    def add_event(self, event: Tree) -> tuple[MessageEvents, tuple[Delta, ...]]:
        """After one more event, and what to display of it."""
        index = number_in(event, "index")
        match type_of(event):
            case "message_start":
                message = tree_at(event, "message")
                at = replace(self, head={**self.head, **message})
                for place, block in enumerate(items_of(message, "content")):
                    at = at.open_value(as_tree(block), place)
                return at, ()
            case "content_block_start":
                block = tree_at(event, "content_block")
                at, kind = self.open_value(block, index), type_of(block)
                text = block.get("name" if kind == "tool_use" else kind)
                return at, at.deltas_to_show(_SHOWN.get(kind), text, block.get("id"), named=True)
            case "content_block_delta":
                return self._add_delta(tree_at(event, "delta"), index)
            case "content_block_stop":
                return replace(self, closed=self.closed | {index}), ()
            case "message_delta":
                delta = {key: value for key, value in tree_at(event, "delta").items() if value is not None}
                # A count of the first event stays where the last one has none (envoyproxy/ai-gateway#1631).
                last = tree_at(event, "usage")
                counts = {key: value for key, value in last.items() if value}
                head = {**self.head, **delta, "usage": {**last, **tree_at(self.head, "usage"), **counts}}
                complete = self.complete or bool(delta.get("stop_reason"))
                return replace(self, head=head, complete=complete), ()
            case "message_stop":
                return replace(self, over=True, complete=True), ()
            case kind if kind == "error" or event.get("error"):
                return self.with_failure(event), ()
            case _:
                return self, ()

    def blocks(self) -> tuple[tuple[int, Tree], ...]:
        """The blocks so far, each with its place."""
        return tuple(zip(sorted(self.begun), whole_blocks({"content": [*self.values()]}), strict=True))

    def body(self) -> Tree:
        """The body as if it had not been streamed, without an error."""
        return {"role": "assistant", **self.head, "content": [*self.values()]}

    def _add_delta(self, delta: Tree, index: int | None) -> tuple[MessageEvents, tuple[Delta, ...]]:
        kind, key = _DELTAS.get(type_of(delta), ("", ""))
        given = delta.get(key)
        # Some gateways send the input as the object that it is.
        text = canonical(given) if isinstance(given, Mapping) and key == "partial_json" else given
        if not text:
            return self, ()
        at = self._at_block(index, kind)
        block = at.begun[at.latest]
        if key == "citation":
            cited = {**block, "citations": [*items_of(block, "citations"), text]}
            return replace(at, begun=at.begun.set(at.latest, cited)), ()
        if not isinstance(text, str):
            return self, ()
        at = at.add_text(at.latest, key, text)
        # Neither signatures are displayed nor the input of tools that the server runs.
        shown = key != "signature" and type_of(block) in {kind, ""}
        return at, at.deltas_to_show(_SHOWN[kind] if shown else None, text)

    def _at_block(self, index: int | None, kind: str) -> MessageEvents:
        """With the block as the newest one that a piece of this kind belongs to.

        Some gateways count the index wrong (Oaklight/llm-rosetta#246), so a block of another type is passed
        over.
        """
        meant = self.latest if index is None else self.find_place(index)
        for place in () if meant is None else (meant, self.latest):
            given = type_of(self.begun[place]) if place in self.begun else None
            # Tools of the server have a type of their own, and an input as well.
            if given in {kind, ""} or (kind == "tool_use" and given is not None and given.endswith(kind)):
                return replace(self, latest=place)
        return self.open_value({"type": kind}, index)
