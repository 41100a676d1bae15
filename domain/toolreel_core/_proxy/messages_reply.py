"""A reply in the form of Anthropic's Messages, from a chat completion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from toolreel_core._conversation import MESSAGES_ITEMS
from toolreel_core._jsontext import Json, Tree, as_tree, canonical, items_of
from toolreel_core._proxy.completion import Completion
from toolreel_core._replies import type_of, whole_blocks

_STOPS: Final[Mapping[str, str]] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
}
_OTHER_STOPS: Final = frozenset(
    {"end_turn", "model_context_window_exceeded", "pause_turn", "refusal", "stop_sequence"}
)
"""Reasons of an upstream of the same form that are as good as those that were read."""


def body_of(said: Completion) -> Tree:
    """The reply."""
    head: Tree = {
        "id": said.id,
        "type": "message",
        "role": "assistant",
        "model": said.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }
    own = {key: value for key, value in said.own.items() if key != "role" and value is not None}
    content = _content_blocks(said)
    return {
        **head,
        **own,
        "content": content,
        "stop_reason": _stop_reason(said),
        "usage": _usage_tree(said),
    }


def _content_blocks(said: Completion) -> Sequence[Json]:
    if said.own:
        return MESSAGES_ITEMS.arranged(whole_blocks(said.own), said.text, said.calls)
    thought: list[Json] = [{**text_block("thinking", said.thought), "signature": ""}] if said.thought else []
    return [*thought, *MESSAGES_ITEMS.arranged((), said.text, said.calls)]


def text_block(kind: str, text: str) -> Tree:
    """A text or a thought as a block."""
    return {"type": kind, kind: text}


def _stop_reason(said: Completion) -> str:
    own = said.own.get("stop_reason")
    if isinstance(own, str) and own in _OTHER_STOPS and said.finish == "stop":
        return own
    return "refusal" if said.refused else _STOPS.get(said.finish, "end_turn")


def _usage_tree(said: Completion) -> Tree:
    own = as_tree(said.own.get("usage"))
    if own:
        return {"input_tokens": 0, "output_tokens": 0, **own}
    counts, cached = said.usage, said.usage.cached_tokens
    # Here, what the cache holds is no part of the input.
    read: Tree = {"cache_read_input_tokens": cached} if cached else {}
    return {
        "input_tokens": max(counts.prompt_tokens - cached, 0),
        "output_tokens": counts.completion_tokens,
        **read,
    }


_EMPTY: Final[Mapping[str, Tree]] = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}}
"""What a block has when it begins, which comes in deltas."""


# https://docs.anthropic.com/en/docs/build-with-claude/streaming
def opening_events(body: Tree) -> Iterator[Tree]:
    """The event before the first block."""
    yield {"type": "message_start", "message": {**body, "content": [], "stop_reason": None}}


def block_events(place: int, block: Tree) -> Iterator[Tree]:
    """The events of a block: it begins, its text, if it has any, what belongs to it, and its end."""
    empty: Tree = _EMPTY.get(type_of(block), {"input": {}} if "input" in block else {})
    deltas = [{"type": f"{key}_delta", key: block[key]} for key in empty if key != "input" and block.get(key)]
    if "input" in empty:
        deltas.append({"type": "input_json_delta", "partial_json": canonical(block["input"])})
    deltas += [{"type": "citations_delta", "citation": each} for each in items_of(block, "citations")]
    begun = {key: value for key, value in {**block, **empty}.items() if key != "citations"}
    yield {"type": "content_block_start", "index": place, "content_block": begun}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": place, "delta": delta}
    yield {"type": "content_block_stop", "index": place}


def closing_events(body: Tree) -> Iterator[Tree]:
    """The events behind the last block."""
    delta: Tree = {"stop_reason": body["stop_reason"], "stop_sequence": body["stop_sequence"]}
    yield {"type": "message_delta", "delta": delta, "usage": body["usage"]}
    yield {"type": "message_stop"}
