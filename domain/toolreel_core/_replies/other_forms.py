"""Replies in the forms of Anthropic's Messages and OpenAI's Responses, as chat completions.

https://docs.anthropic.com/en/api/messages, https://platform.openai.com/docs/api-reference/responses/object.
Blocks and items are read as servers and gateways really write them: a text in place of the list, without a
type, with arguments that are text or an object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from toolreel_core._jsontext import (
    NOTHING,
    Json,
    JsonText,
    Tree,
    as_list,
    as_tree,
    canonical,
    list_at,
    read_json,
    text_at,
    tree_at,
    without_non_finite_numbers,
)
from toolreel_core._replies.event_assembly import (
    BlockEvents,
    DeltaKind,
    Deltas,
    ReadAsChat,
    integer_field,
    single_message_completion,
    type_of,
)
from toolreel_core._settings import MESSAGES_BLOCKS, RESPONSES_ITEMS

_MESSAGE_HEAD = ("id", "model", "provider", "error")
_PIECES = "partial_json"
"""Where the assembled stream has the text of an ``input``."""
# The pieces first: a block may begin with its whole input, and stream it as well (inflaborg/ccrelay#119).
_INPUTS = (_PIECES, "input", "arguments", "parameters")
_PAUSED = "pause_turn"
_FINISHES = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "refusal": "stop",
    _PAUSED: "stop",
}
"""The words of chat completions for these reasons: response transforms compare with them, a refusal has a
field of its own, and ``pause_turn`` would be reported as unknown."""
_REFUSED = "The model refuses to answer."


def messages_body_as_chat(body: Json) -> ReadAsChat:
    """The reply as a chat completion; unchanged if it has another form."""
    if not isinstance(body, Mapping) or "content" not in body or "choices" in body:
        return ReadAsChat(body)
    blocks = _content_blocks(body["content"])
    calls: list[Json] = []
    texts: dict[str, list[str]] = {"text": [], "thinking": []}
    for block in blocks:
        kind = _block_type(block)
        if kind == "tool_use":
            given = next((block[key] for key in _INPUTS if block.get(key) is not None), {})
            # An object is what the form documents, so it is made text without a warning.
            arguments = canonical(without_non_finite_numbers(given)) if isinstance(given, Mapping) else given
            function: Tree = {"name": block.get("name"), "arguments": arguments}
            calls.append({"id": block.get("id"), "type": "function", "function": function})
        elif kind in texts:
            texts[kind].append(text_at(block, kind))
    text, refusal = "".join(texts["text"]), ""
    if body.get("stop_reason") == "refusal":
        # A refusal may have no text at all (laravel/ai#881).
        refusal = text or text_at(tree_at(body, "stop_details"), "explanation").strip() or _REFUSED
    head = {key: body[key] for key in _MESSAGE_HEAD if body.get(key)}
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
    chat = single_message_completion(
        {**head, **usage},
        text,
        finish,
        role=body.get("role", "assistant"),
        thinking="".join(texts["thinking"]),
        tool_calls=calls,
        refusal=refusal,
    )
    return ReadAsChat(chat, carry=blocks_to_send_back(blocks), paused=reason == _PAUSED)


def typed_content_blocks(body: Tree) -> list[Tree]:
    return [
        {**_block_with_joined_input(block), "type": _block_type(block)}
        for block in _content_blocks(body.get("content"))
    ]


def _content_blocks(content: Json) -> list[Tree]:
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


def blocks_to_send_back(blocks: Sequence[Tree]) -> JsonText:
    """The blocks that go back unchanged, with the places of the calls; nothing if all is text and calls."""
    if all(_block_type(block) in {"text", "tool_use"} and "citations" not in block for block in blocks):
        return NOTHING
    said = {"id", "name", *_INPUTS}
    kept = [
        # A call goes back without what the message says of it.
        {key: value for key, value in block.items() if key not in said}
        if _block_type(block) == "tool_use"
        else _block_with_joined_input(block)
        for block in blocks
    ]
    return canonical(without_non_finite_numbers({MESSAGES_BLOCKS: kept}))


def _block_with_joined_input(block: Tree) -> Tree:
    pieces = block.get(_PIECES)
    if not isinstance(pieces, str):
        return block
    rest = {key: value for key, value in block.items() if key != _PIECES}
    given = read_json(pieces).value_or(None)
    return {**rest, "input": given} if isinstance(given, Mapping) else rest


_SHOWN: Mapping[str, DeltaKind] = {"text": "content", "thinking": "reasoning", "tool_use": "tool_call"}
"""How the text of a block is displayed."""
_DELTAS = {
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

    def add_event(self, event: Tree) -> tuple[MessageEvents, Deltas]:
        index = integer_field(event, "index")
        match type_of(event):
            case "message_start":
                message = tree_at(event, "message")
                at = replace(self, head={**self.head, **message})
                for place, block in enumerate(list_at(message, "content")):
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
            case "message_stop":  # also without a stop reason before it (SamSaffron/term-llm#955)
                return replace(self, over=True, complete=True), ()
            case kind if kind == "error" or event.get("error"):
                return self.with_failure(event), ()
            case _:
                return self, ()

    def blocks(self) -> dict[int, Tree]:
        return dict(zip(sorted(self.begun), typed_content_blocks({"content": [*self.values()]}), strict=True))

    def body(self) -> Tree:
        return {"role": "assistant", **self.head, "content": [*self.values()]}

    def _add_delta(self, delta: Tree, index: int | None) -> tuple[MessageEvents, Deltas]:
        kind, key = _DELTAS.get(type_of(delta), ("", ""))
        given = delta.get(key)
        # Some gateways send the input as an object (izaart95-jpg/GLM-Free-API#16).
        text = canonical(given) if isinstance(given, Mapping) and key == "partial_json" else given
        if not text:
            return self, ()
        at = self._select_block_of_delta(index, kind)
        block = at.begun[at.latest]
        if key == "citation":
            cited = {**block, "citations": [*list_at(block, "citations"), text]}
            return replace(at, begun=at.begun.set(at.latest, cited)), ()
        if not isinstance(text, str):
            return self, ()
        at = at.add_text(at.latest, key, text)
        # Neither signatures are displayed nor the input of tools that the server runs.
        shown = key != "signature" and type_of(block) in {kind, ""}
        return at, at.deltas_to_show(_SHOWN[kind] if shown else None, text)

    def _select_block_of_delta(self, index: int | None, kind: str) -> MessageEvents:
        """With the block of a piece as the newest; gateways count wrong (Oaklight/llm-rosetta#246)."""
        meant = self.latest if index is None else self.find_place(index)
        for place in () if meant is None else (meant, self.latest):
            given = type_of(self.begun[place]) if place in self.begun else None
            # Tools of the server have a type of their own, and an input as well.
            if given in {kind, ""} or (kind == "tool_use" and given is not None and given.endswith(kind)):
                return replace(self, latest=place)
        return self.open_value({"type": kind}, index)


_RESPONSE_HEAD = ("id", "model", "provider", "error", "usage")
_OF_OURS = frozenset({"id", "status"})
_OF_CALL = _OF_OURS | {"call_id", "name", "arguments"}
_CALLS = {"function_call": ("function", "arguments"), "custom_tool_call": ("custom", "input")}
"""The type of a call in chat completions, and the key of what is given to it."""
_INCOMPLETE: Mapping[Json, str] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}
"""The finish reason for each reason why a response is incomplete."""


def responses_body_as_chat(body: Json) -> ReadAsChat:
    """The reply as a chat completion; unchanged if it has another form."""
    if not isinstance(body, Mapping) or "output" not in body or "choices" in body:
        return ReadAsChat(body)
    # A gateway sends ``output_text``, which is a property of OpenAI's SDK, instead (AntSeed/antseed#48).
    items = [*_output_items(body["output"])] or [*_output_items(body.get("output_text"))]
    run = _server_executed_call_ids(items)
    calls, text, refusal, thoughts = list[Json](), "", "", ""
    for item in items:
        match _item_type(item):
            case "message":
                for part in as_list(item.get("content")):
                    tree = {"text": part} if isinstance(part, str) else as_tree(part)
                    text += text_at(tree, "text") if tree.get("type") != "refusal" else ""
                    refusal += text_at(tree, "refusal")
            case "reasoning":  # its text is its own (openai/openai-dotnet#1329), or its summary
                said, summed = (
                    "".join(text_at(as_tree(part), "text") for part in list_at(item, key))
                    for key in ("content", "summary")
                )
                thoughts += said or summed
            case kind if kind in _CALLS and item.get("call_id") not in run:
                type_, argument = _CALLS[kind]
                called: Tree = {key: item.get(key) for key in ("name", argument)}
                # The result goes back under `call_id`; `id` is that of the item, which some gateways send
                # alone (AntSeed/antseed#48).
                calls.append({"id": item.get("call_id") or item.get("id"), "type": type_, type_: called})
            case _:
                continue
    chat = single_message_completion(
        {key: body[key] for key in _RESPONSE_HEAD if body.get(key)},
        text,
        _finish_reason(body, called=bool(calls)),
        thinking=thoughts,
        tool_calls=calls,
        refusal=refusal,
    )
    return ReadAsChat(chat, carry=items_to_send_back(items))


def typed_output_items(body: Tree) -> list[Tree]:
    return [{**item, "type": _item_type(item)} for item in _output_items(body.get("output"))]


def _output_items(output: Json) -> Iterator[Tree]:
    """The items of an output; a text in its place is a message."""
    for item in as_list(output):
        if isinstance(item, Mapping):
            yield item
        elif isinstance(item, str):
            yield {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": item}]}


def _item_type(item: Tree) -> str:
    """The type of an item; where it has none, what it holds tells."""
    if kind := type_of(item):
        return kind
    if "name" in item and "arguments" in item:
        return "function_call"
    return "message" if "content" in item else ""


def _server_executed_call_ids(items: Sequence[Tree]) -> list[Json]:
    """The ids of calls whose results are in the same output, since the server ran them."""
    # Agents behind this form show what they have run themselves (NousResearch/hermes-agent#81693).
    return [
        id_ for item in items if _item_type(item) == "function_call_output" and (id_ := item.get("call_id"))
    ]


def _finish_reason(body: Tree, *, called: bool) -> Json:
    match body.get("status"):
        case "completed" | None:
            return "tool_calls" if called else "stop"
        case "incomplete":
            reason = text_at(tree_at(body, "incomplete_details"), "reason")
            return _INCOMPLETE.get(reason, reason)
        case status:
            return status


def items_to_send_back(items: Sequence[Tree]) -> JsonText:
    """The items that go back unchanged, with the places of the calls; nothing if all is text and calls."""
    if all(_item_type(item) in {"message", "function_call"} for item in items):
        return NOTHING
    run = _server_executed_call_ids(items)
    # A call goes back without what the message says of it, others without their ids: a server that stores
    # nothing looks the id up all the same, and finds nothing (maximhq/bifrost#5410).
    left_out = {"function_call": _OF_CALL, "reasoning": _OF_OURS, "message": _OF_OURS}
    kept = [
        item
        if item.get("call_id") in run
        else {key: value for key, value in item.items() if key not in left_out.get(_item_type(item), ())}
        for item in items
    ]
    return canonical(without_non_finite_numbers({RESPONSES_ITEMS: kept}))


_TEXT_EVENTS: Mapping[str, tuple[str, str, DeltaKind | None]] = {
    "response.output_text": ("message", "text", "content"),
    "response.refusal": ("message", "refusal", None),
    "response.reasoning_text": ("reasoning", "text", "reasoning"),
    "response.reasoning_summary_text": ("reasoning", "summary_text", "reasoning"),
    "response.function_call_arguments": ("function_call", "arguments", "tool_call"),
}
"""The type of the item that each ``.delta`` and ``.done`` belongs to, the key and the display of its text."""
_HOMES = {"text": "content", "refusal": "content", "summary_text": "summary", "arguments": "arguments"}
"""Where the texts of these keys are in a whole item."""
_PARTS = ("content_index", "summary_index")
"""Which part of its item a piece of text belongs to."""
_ENDS = {
    "response.completed": "completed",
    "response.done": "completed",  # jlcodes99/cockpit-tools#2328
    "response.incomplete": "incomplete",
    "response.failed": "failed",
}
"""The status that each last event means."""
_BEGINS = frozenset({"response.created", "response.in_progress", "response.queued"})


@dataclass(frozen=True, slots=True)
class ResponseEvents(BlockEvents):
    call_type = "function_call"

    def add_event(self, event: Tree) -> tuple[ResponseEvents, Deltas]:
        kind = type_of(event)
        if kind in _BEGINS:
            return replace(self, head={**self.head, **tree_at(event, "response")}), ()
        if kind in _ENDS:
            head = {**self.head, "status": _ENDS[kind], **tree_at(event, "response")}
            return replace(self, head=head, complete=True, over=True), ()
        item, index = tree_at(event, "item"), integer_field(event, "output_index")
        if kind == "response.output_item.added":
            at = self.open_value(item, index, _item_ids(item))
            called: DeltaKind | None = "tool_call" if type_of(item) == "function_call" else None
            return at, at.deltas_to_show(called, item.get("name"), item.get("call_id"), named=True)
        if kind == "response.output_item.done":
            place = self.find_place(index, _item_ids(item))
            if place is None or type_of(self.begun[place]) not in {type_of(item), ""}:
                return self.open_value(item, index, _item_ids(item)), ()
            return self.merge_value(place, item, _HOMES), ()
        if kind == "error" or event.get("error"):
            return self.with_failure(event), ()
        return self._add_delta(event, index)

    def blocks(self) -> dict[int, Tree]:
        whole = typed_output_items({"output": [*map(_item_with_content_parts, self.values())]})
        return dict(zip(sorted(self.begun), whole, strict=True))

    def body(self) -> Tree:
        streamed, last = [*map(_item_with_content_parts, self.values())], list_at(self.head, "output")
        # The last event has all of it, but gateways leave out what they have streamed (sglang#12652).
        output = last if _count_calls_and_text(last) >= _count_calls_and_text(streamed) else streamed
        return {**self.head, "output": output or streamed}

    def _add_delta(self, event: Tree, index: int | None) -> tuple[ResponseEvents, Deltas]:
        name, _, ending = type_of(event).rpartition(".")
        kind, key, display = _TEXT_EVENTS.get(name, ("", "", None))
        text = text_at(event, "delta" if ending == "delta" else key.removeprefix("summary_"))
        if not key or not text:
            return self, ()
        part = next((number for name in _PARTS if (number := integer_field(event, name)) is not None), 0)
        # It belongs to the item that it names, else to the newest one of its kind.
        place = self.find_place(index, (text_at(event, "item_id"),))
        if place is None:
            newest = self.begun.get(self.latest)
            if newest is not None and index is None and type_of(newest) in {kind, ""}:
                place = self.latest
            else:
                place = self.next_place() if index is None or index in self.begun else index
        # A text may come only as ``.done``, without deltas (Sophomoresty/gemini-web2api#57).
        known = self.has_text(place, key, part)
        at = self.add_text(place, key, text, of=kind, part=part, whole=ending == "done")
        return at, () if known and ending == "done" else at.deltas_to_show(display, text)


def _item_ids(item: Tree) -> tuple[str, ...]:
    """The ids under which pieces name an item; Ollama makes one of the id of the call (oh-my-pi#2719)."""
    own, call = text_at(item, "id"), text_at(item, "call_id")
    ids = (own,) if own else (call, f"fc_{call}")
    return ids if own or call else ()


def _count_calls_and_text(output: Sequence[Json]) -> tuple[int, bool]:
    """How many calls an output has, and whether it has a text."""
    items = [*map(as_tree, output)]
    calls = sum(item.get("type") == "function_call" for item in items)
    parts = (as_tree(part) for item in items for part in list_at(item, "content"))
    return calls, any(part.get("text") for part in parts)


def _item_with_content_parts(item: Tree) -> Tree:
    content: list[Json] = [*list_at(item, "content")]
    rest = {key: value for key, value in item.items() if key not in {"text", "refusal", "summary_text"}}
    if text := item.get("text"):
        content.append({"type": "output_text", "text": text})
    if refusal := item.get("refusal"):
        content.append({"type": "refusal", "refusal": refusal})
    if summary := item.get("summary_text"):
        return {**rest, "summary": [{"type": "summary_text", "text": summary}]}
    return {**rest, "content": content} if content else as_tree(rest)
