"""A request in the form of OpenAI's Responses, as chat completions say it.

An item is a message, a call or a thought of its own; what the model said at once is one message here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from toolreel_core._client_requests.losses import (
    AsChat,
    Findings,
    LossCode,
    Said,
    assistant_entry,
    chat_tools,
    content_of,
    is_empty,
)
from toolreel_core._jsontext import Json, Tree, as_tree, items_of, tree_at
from toolreel_core._replies import chat_of_response, type_of

_SAME: Final = (
    "metadata", "model", "parallel_tool_calls", "prompt_cache_key", "prompt_cache_retention",
    "safety_identifier", "service_tier", "stream", "temperature", "top_p", "user",
)  # fmt: skip
_HINTS: Final = frozenset({"client_metadata", "max_tool_calls", "moderation", "context_management"})
_LOST: Final[Mapping[str, LossCode]] = {
    "previous_response_id": "stored_response",
    "conversation": "stored_response",
    "prompt": "stored_prompt",
    "background": "background",
    "top_logprobs": "logprobs",
}
_KNOWN: Final = frozenset({
    *_SAME, "include", "input", "instructions", "max_output_tokens", "reasoning", "store", "stream_options",
    "text", "tool_choice", "tools", "truncation",
})  # fmt: skip
_TEXTS: Final = frozenset({"text", "input_text", "output_text"})
_SAID: Final = _TEXTS | {"refusal"}


def read_request(tree: Tree) -> AsChat:
    """The request as one of chat completions."""
    found = Findings()
    found.add_unknown_keys(tree, "", _KNOWN, _HINTS, _LOST)
    given = tree.get("instructions")
    opening = () if is_empty(given) else (Said((), ({"role": "system", "content": given},)),)
    said = (*opening, *_chat_messages(tree, found))
    return _chat_options(tree, found), said, found


def _chat_messages(tree: Tree, found: Findings) -> Iterator[Said]:
    given = tree.get("input")
    if isinstance(given, str):
        yield Said(({"role": "user", "content": given},), ({"role": "user", "content": given},))
    items = [(f"input[{number}]", as_tree(item)) for number, item in enumerate(items_of(tree, "input"))]
    for of_model, run in groupby(items, lambda placed: _is_assistant_item(placed[1])):
        if of_model:
            yield _assistant_message([*run], found)
        else:
            yield from (Said((item,), (_chat_message(item, place, found),)) for place, item in run)


def _is_assistant_item(item: Tree) -> bool:
    kind = type_of(item)
    if kind in ("", "message"):
        return item.get("role") == "assistant"
    return not kind.endswith("_output") and kind != "item_reference"


def _assistant_message(turn: Sequence[tuple[str, Tree]], found: Findings) -> Said:
    """What the model has said at once."""
    for place, item in turn:
        match type_of(item):
            case "" | "message":
                for number, part in enumerate(map(as_tree, items_of(item, "content"))):
                    if type_of(part) not in _SAID:
                        found.add_loss("unknown", f"{place}.content[{number}]")
            case "reasoning":
                if item.get("encrypted_content"):
                    found.add_loss("encrypted_reasoning", f"{place}.encrypted_content")
            case "function_call":
                pass
            case kind:
                found.add_loss("custom_tool" if kind == "custom_tool_call" else "server_tool", place)
    items = [item for _, item in turn]
    return Said(tuple(items), (assistant_entry(chat_of_response({"output": items})),))


def _chat_message(item: Tree, place: str, found: Findings) -> Tree:
    """A message that is not the model's, or a result."""
    match type_of(item):
        case "" | "message":
            content = content_of(item.get("content"), f"{place}.content", found, _chat_part)
            return {"role": item.get("role", "user"), "content": content}
        case "function_call_output":
            output = content_of(item.get("output"), f"{place}.output", found, _chat_part)
            return {"role": "tool", "tool_call_id": item.get("call_id"), "content": output}
        case "item_reference":
            found.add_loss("stored_response", place)
        case "custom_tool_call_output":
            found.add_loss("custom_tool", place)
        case _:
            found.add_loss("server_tool", place)
    return item


def _chat_part(part: Tree, place: str, found: Findings) -> Tree:
    """A part of chat completions; what is none stays as it is."""
    if not is_empty(part.get("file_id")):
        found.add_loss("stored_file", f"{place}.file_id")
        return part
    match part:
        case {"type": kind, "text": str() as text} if kind in _TEXTS:
            return {"type": "text", "text": text}
        case {"type": "input_image", "image_url": str() as url}:
            detail: Tree = {"detail": part["detail"]} if part.get("detail") else {}
            return {"type": "image_url", "image_url": {"url": url, **detail}}
        case {"type": "input_file"}:
            name: Tree = {"filename": part["filename"]} if part.get("filename") else {}
            data = part.get("file_data") or part.get("file_url")
            return {"type": "file", "file": {**name, "file_data": data}}
        case {"type": "input_audio", "input_audio": {}}:
            return part
        case _:
            found.add_loss("unknown", place)
            return part


def _chat_options(tree: Tree, found: Findings) -> Tree:
    options: dict[str, Json] = {key: tree[key] for key in _SAME if not is_empty(tree.get(key))}
    reasoning, text = tree_at(tree, "reasoning"), tree_at(tree, "text")
    others: Tree = {
        "parallel_tool_calls": tree.get("parallel_tool_calls"),
        "store": tree.get("store") or None,  # that it is stored if nothing is said is no wish
        "max_tokens": tree.get("max_output_tokens"),
        "reasoning_effort": reasoning.get("effort") or None,
        "verbosity": text.get("verbosity") or None,
    }
    options |= {key: value for key, value in others.items() if value is not None}
    found.add_unknown_keys(
        reasoning, "reasoning.", frozenset({"effort"}), frozenset({"summary", "generate_summary"})
    )
    match tree_at(text, "format"):
        case {"type": "json_schema", **schema}:
            options["response_format"] = {"type": "json_schema", "json_schema": schema}
        case {"type": "json_object"}:
            options["response_format"] = {"type": "json_object"}
        case {"type": str() as kind} if kind != "text":
            found.add_loss("unknown", "text.format")
        case _:
            pass
    for wanted in items_of(tree, "include"):
        if wanted == "reasoning.encrypted_content":
            found.add_hint("encrypted_content")
        else:
            logprobs = isinstance(wanted, str) and wanted.endswith("logprobs")
            found.add_loss("logprobs" if logprobs else "server_tool", f"include: {wanted}")
    if tree.get("truncation") not in (None, "disabled"):
        found.add_hint("truncation")
    tools = chat_tools(tree, ("function",), "parameters", found)
    return {**options, **tools, **_chat_tool_choice(tree.get("tool_choice"), found)}


def _chat_tool_choice(choice: Json, found: Findings) -> Tree:
    match choice:
        case None:
            return {}
        case str():
            return {"tool_choice": choice}
        case {"type": "function", "name": name}:
            return {"tool_choice": {"type": "function", "function": {"name": name}}}
        case _:
            found.add_loss("unknown", "tool_choice")
            return {}
