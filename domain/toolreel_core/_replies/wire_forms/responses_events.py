"""The events of a streamed reply in the form of OpenAI's Responses, joined into its body.

https://platform.openai.com/docs/api-reference/responses-streaming. The last event has the whole response; a
stream that lacks its output is put together from the items, and an item that never ended from its pieces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from toolreel_core._jsontext import Json, Tree, as_tree, items_of, sound, tree_at
from toolreel_core._replies.streaming.stream import Delta
from toolreel_core._replies.wire_forms.assembly import number_in
from toolreel_core._replies.wire_forms.joined_events import JoinedEvents
from toolreel_core._replies.wire_forms.responses import whole_items
from toolreel_core._replies.wire_forms.translated import type_of

_PIECES: Final[Mapping[str, tuple[str, str]]] = {
    "response.output_text": ("message", "text"),
    "response.refusal": ("message", "refusal"),
    "response.reasoning_text": ("reasoning", "text"),
    "response.reasoning_summary_text": ("reasoning", "summary_text"),
    "response.function_call_arguments": ("function_call", "arguments"),
}
"""The type of the item that each ``.delta`` and ``.done`` belongs to, and the key of its text."""
_HOMES: Final = {"text": "content", "refusal": "content", "summary_text": "summary", "arguments": "arguments"}
"""Where the texts of these keys are in a whole item."""
_PARTS: Final = ("content_index", "summary_index")
_ENDS: Final[Mapping[str, str]] = {
    "response.completed": "completed",
    "response.done": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
}
"""The status that each last event means."""
_BEGINS: Final = frozenset({"response.created", "response.in_progress", "response.queued"})


@dataclass(frozen=True, slots=True)
class ResponseEvents(JoinedEvents):
    """What the events so far say."""

    def heard(self, event: Tree) -> tuple[ResponseEvents, tuple[Delta, ...]]:
        """After one more event, and what to display of it."""
        kind = type_of(event)
        if kind in _BEGINS:
            return replace(self, head={**self.head, **tree_at(event, "response")}), ()
        if kind in _ENDS:
            return self._ended(event), ()
        if kind == "response.output_item.added":
            return self._added(event)
        if kind == "response.output_item.done":
            return self._done(event), ()
        if kind == "error" or event.get("error"):
            return self.failed(event), ()
        return self._piece(event)

    def calls(self) -> bool:
        """Whether there is a call in it."""
        return self.has("function_call")

    def blocks(self) -> tuple[tuple[int, Tree], ...]:
        """The items so far, each with its place."""
        whole = whole_items({"output": [*map(_whole, self.assembly.values())]})
        return tuple(zip(sorted(self.assembly.begun), whole, strict=True))

    def body(self) -> Tree:
        """The body as if it had not been streamed."""
        failure: Tree = {"error": self.failure} if self.failure else {}
        streamed = [*map(_whole, self.assembly.values())]
        said = items_of(self.head, "output")
        # The last event has all of it, but gateways leave out what they have streamed (sglang#12652).
        output = said if _extent(said) >= _extent(streamed) else streamed
        return {**self.head, "output": output or streamed, **failure}

    def _ended(self, event: Tree) -> ResponseEvents:
        status: Tree = {"status": _ENDS[type_of(event)]}
        head = {**self.head, **status, **tree_at(event, "response")}
        return replace(self, head=head, complete=True, over=True)

    def _added(self, event: Tree) -> tuple[ResponseEvents, tuple[Delta, ...]]:
        item = tree_at(event, "item")
        at = replace(self, assembly=self.assembly.open(item, _index(event), _names(item)))
        match item:
            case {"type": "function_call", "name": str() as name} if name:
                return at, at.announced("function_call", name, item.get("call_id"))
            case _:
                return at, ()

    def _done(self, event: Tree) -> ResponseEvents:
        item = tree_at(event, "item")
        place = self.assembly.place(_index(event), _names(item))
        if place is None or type_of(self.assembly.begun[place]) not in {type_of(item), ""}:
            return replace(self, assembly=self.assembly.open(item, _index(event), _names(item)))
        return replace(self, assembly=self.assembly.merged(place, item, _HOMES))

    def _piece(self, event: Tree) -> tuple[ResponseEvents, tuple[Delta, ...]]:
        name, _, ending = type_of(event).rpartition(".")
        kind, key = _PIECES.get(name, ("", ""))
        text = event.get("delta") if ending == "delta" else event.get(key.removeprefix("summary_"))
        if not key or not isinstance(text, str) or not text or ending not in {"delta", "done"}:
            return self, ()
        part = next((number for name in _PARTS if (number := number_in(event, name)) is not None), 0)
        item_id = event.get("item_id")
        place = self._place(_index(event), item_id if isinstance(item_id, str) else "", kind)
        if ending == "done":
            known = self.assembly.has(place, key, part)
            at = replace(self, assembly=self.assembly.settled(place, key, text, of=kind, part=part))
            return at, () if known else at._shown(kind, key, text)
        at = replace(self, assembly=self.assembly.add(place, key, text, of=kind, part=part))
        return at, at._shown(kind, key, text)

    def _shown(self, kind: str, key: str, text: str) -> tuple[Delta, ...]:
        match kind:
            case "function_call":
                return self.arguments(kind, text)
            case "reasoning":
                return (Delta("reasoning", sound(text)),)
            case _:
                return () if key == "refusal" else (Delta("content", sound(text)),)

    def _place(self, index: int | None, item_id: str, kind: str) -> int:
        """Where a piece belongs: to the item that it names, else to the newest one of its kind."""
        place = self.assembly.place(index, (item_id,))
        if place is not None:
            return place
        newest = self.assembly.begun.get(self.assembly.latest)
        if newest is not None and index is None and type_of(newest) in {kind, ""}:
            return self.assembly.latest
        return self.assembly.free() if index is None or index in self.assembly.begun else index


def _index(event: Tree) -> int | None:
    return number_in(event, "output_index")


def _names(item: Tree) -> tuple[str, ...]:
    """The ids under which pieces name an item; Ollama makes one of the id of the call (oh-my-pi#2719)."""
    if isinstance(own := item.get("id"), str) and own:
        return (own,)
    call = item.get("call_id")
    return (call, f"fc_{call}") if isinstance(call, str) and call else ()


def _extent(output: Sequence[Json]) -> tuple[int, bool]:
    """How many calls an output has, and whether it has a text."""
    items = [*map(as_tree, output)]
    calls = sum(item.get("type") == "function_call" for item in items)
    parts = (as_tree(part) for item in items for part in items_of(item, "content"))
    return calls, any(part.get("text") for part in parts)


def _whole(item: Tree) -> Tree:
    """An item whose pieces stand where its content belongs."""
    content: list[Json] = [*items_of(item, "content")]
    rest = {key: value for key, value in item.items() if key not in {"text", "refusal", "summary_text"}}
    if text := item.get("text"):
        content.append({"type": "output_text", "text": text})
    if refusal := item.get("refusal"):
        content.append({"type": "refusal", "refusal": refusal})
    if summary := item.get("summary_text"):
        return {**rest, "summary": [{"type": "summary_text", "text": summary}]}
    return {**rest, "content": content} if content else as_tree(rest)
