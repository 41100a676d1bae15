"""The events of a streamed reply in the form of OpenAI's Responses, joined into its body.

https://platform.openai.com/docs/api-reference/responses-streaming. The last event has the whole response; a
stream that lacks its output is put together from the items, and an item that never ended from its pieces.
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
    "response.output_text.delta": ("message", "text"),
    "response.refusal.delta": ("message", "refusal"),
    "response.reasoning_text.delta": ("reasoning", "text"),
    "response.reasoning_summary_text.delta": ("reasoning", "summary_text"),
    "response.function_call_arguments.delta": ("function_call", "arguments"),
}
"""The type of the item that each delta belongs to, and the key of its text."""
_ENDS: Final[Mapping[Json, str]] = {
    "response.completed": "completed",
    "response.done": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
}
"""The status that each last event means."""
_BEGINS: Final = frozenset({"response.created", "response.in_progress", "response.queued"})


@dataclass(frozen=True, slots=True)
class ResponseEvents:
    """What the events so far say."""

    head: Mapping[str, Json] = field(default_factory=dict)
    """The response, as far as the server has said it."""
    items: Assembly = field(default_factory=Assembly)
    latest: int = 0
    """The item of the newest event, for servers that leave out its place."""
    failure: Json = None
    complete: bool = False
    """Whether the response has ended."""
    over: bool = False

    def heard(self, event: Tree) -> tuple[ResponseEvents, tuple[Delta, ...]]:
        """After one more event, and what to display of it."""
        kind = event.get("type")
        if kind in _BEGINS:
            return replace(self, head={**self.head, **tree_at(event, "response")}), ()
        if kind in _ENDS:
            return self._ended(event), ()
        if kind == "response.output_item.added":
            return self._added(event)
        if kind == "response.output_item.done":
            return self._done(event), ()
        if kind == "error" or event.get("error"):
            return replace(self, failure=event.get("error") or event, over=True), ()
        return self._piece(event)

    def calls(self) -> bool:
        """Whether there is a call in it."""
        return any(item.get("type") == "function_call" for item in self.items.values())

    def body(self) -> Tree:
        """The body as if it had not been streamed."""
        failure: Tree = {"error": self.failure} if self.failure else {}
        output = items_of(self.head, "output") or [*map(_whole, self.items.values())]
        return {**self.head, "output": output, **failure}

    def _ended(self, event: Tree) -> ResponseEvents:
        status: Tree = {"status": _ENDS[event.get("type")]}
        head = {**self.head, **status, **tree_at(event, "response")}
        return replace(self, head=head, complete=True, over=True)

    def _added(self, event: Tree) -> tuple[ResponseEvents, tuple[Delta, ...]]:
        place = number_in(event, "output_index", len(self.items.begun))
        item = tree_at(event, "item")
        at = replace(self, items=self.items.begin(place, item), latest=place)
        match item:
            case {"type": "function_call", "name": str() as name} if name:
                id_ = item.get("call_id")
                number = at.items.before(place, "function_call")
                return at, (
                    Delta("tool_call", sound(name), number, id_ if isinstance(id_, str) else "", sound(name)),
                )
            case _:
                return at, ()

    def _done(self, event: Tree) -> ResponseEvents:
        place = number_in(event, "output_index", self.latest)
        return replace(self, items=self.items.begin(place, tree_at(event, "item")), latest=place)

    def _piece(self, event: Tree) -> tuple[ResponseEvents, tuple[Delta, ...]]:
        kind, key = _PIECES.get(event.get("type"), ("", ""))
        text = event.get("delta")
        if not key or not isinstance(text, str) or not text:
            return self, ()
        place = number_in(event, "output_index", self.latest)
        at = replace(self, items=self.items.add(place, key, text, of=kind), latest=place)
        match kind:
            case "function_call":
                return at, (Delta("tool_call", sound(text), at.items.before(place, "function_call")),)
            case "reasoning":
                return at, (Delta("reasoning", sound(text)),)
            case _:
                return at, () if key == "refusal" else (Delta("content", sound(text)),)


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
