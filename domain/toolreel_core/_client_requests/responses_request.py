"""A request in the form of OpenAI's Responses, as chat completions say it.

An item is a message, a call or a thought of its own; what the model said at once is one message here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from toolreel_core._client_requests.losses import (
    AsChat,
    Findings,
    LossCode,
    Said,
    contents,
    is_empty,
    said_by,
)
from toolreel_core._jsontext import NOTHING, Json, Tree, as_tree, items_of, parse, tree_at
from toolreel_core._replies import carried_in_responses, type_of

_SAME: Final = (
    "metadata", "model", "parallel_tool_calls", "prompt_cache_key", "prompt_cache_retention",
    "safety_identifier", "service_tier", "stream", "temperature", "top_p", "user",
)  # fmt: skip
_HINTS: Final = frozenset({"client_metadata", "max_tool_calls", "moderation", "context_management"})
_LOST: Final[tuple[tuple[str, LossCode], ...]] = (
    ("previous_response_id", "stored_response"),
    ("conversation", "stored_response"),
    ("prompt", "stored_prompt"),
    ("background", "background"),
    ("top_logprobs", "logprobs"),
)
_KNOWN: Final = frozenset({
    *_SAME, *_HINTS, *(key for key, _ in _LOST), "include", "input", "instructions", "max_output_tokens",
    "reasoning", "store", "stream_options", "text", "tool_choice", "tools", "truncation",
})  # fmt: skip
_TEXTS: Final = frozenset({"text", "input_text", "output_text"})
_OF_TOOL: Final = frozenset({"type", "name", "description", "parameters", "strict"})


def read(tree: Tree) -> AsChat:
    """The request as one of chat completions."""
    found = Findings()
    found.hints_in(tree, _HINTS)
    found.others(tree, _KNOWN, "")
    for key, code in _LOST:
        if tree.get(key):
            found.loss(code, key)
    given = tree.get("instructions")
    opening = () if is_empty(given) else (Said((), ({"role": "system", "content": given},)),)
    said = (*opening, *_chat_messages(tree, found))
    return _chat_options(tree, found), said, found


def _chat_messages(tree: Tree, found: Findings) -> Iterator[Said]:
    given = tree.get("input")
    if isinstance(given, str):
        yield Said(({"role": "user", "content": given},), ({"role": "user", "content": given},))
        return
    turn: list[tuple[int, Tree]] = []
    for number, item in enumerate(map(as_tree, items_of(tree, "input"))):
        if _is_of_model(item):
            turn.append((number, item))
            continue
        if turn:
            yield _assistant_message(turn, found)
            turn = []
        yield Said((item,), (_chat_message(item, f"input[{number}]", found),))
    if turn:
        yield _assistant_message(turn, found)


def _is_of_model(item: Tree) -> bool:
    kind = type_of(item)
    if kind in ("", "message"):
        return item.get("role") == "assistant"
    return not kind.endswith("_output") and kind != "item_reference"


def _assistant_message(turn: Sequence[tuple[int, Tree]], found: Findings) -> Said:
    """What the model has said at once."""
    texts, thoughts, calls = list[str](), list[str](), list[Json]()
    for number, item in turn:
        place = f"input[{number}]"
        match type_of(item):
            case "" | "message":
                texts.append(_joined_text(item.get("content"), f"{place}.content", found))
            case "function_call":
                function: Tree = {"name": item.get("name"), "arguments": item.get("arguments")}
                calls.append({"id": item.get("call_id"), "type": "function", "function": function})
            case "reasoning":
                thoughts += _reasoning_texts(item, place, found)
            case "custom_tool_call":
                found.loss("custom_tool", place)
            case _:
                found.loss("server_tool", place)
    items = [{**item, "type": type_of(item) or "message"} for _, item in turn]
    carry = carried_in_responses(items)
    kept = {} if carry is NOTHING else as_tree(parse(carry))
    return Said(
        tuple(item for _, item in turn), ({**said_by("".join(texts), "".join(thoughts), calls), **kept},)
    )


def _joined_text(content: Json, place: str, found: Findings) -> str:
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for number, part in enumerate(map(as_tree, content if isinstance(content, Sequence) else ())):
        match part:
            case {"type": kind, "text": str() as text} if kind in _TEXTS:
                texts.append(text)
            case {"type": "refusal", "refusal": str() as text}:
                texts.append(text)
            case _:
                found.loss("unknown", f"{place}[{number}]")
    return "".join(texts)


def _reasoning_texts(item: Tree, place: str, found: Findings) -> Iterator[str]:
    if item.get("encrypted_content"):
        found.loss("encrypted_reasoning", f"{place}.encrypted_content")
    for key in ("content", "summary"):
        texts = [text for part in items_of(item, key) if isinstance(text := as_tree(part).get("text"), str)]
        if texts:
            yield from texts
            return


def _chat_message(item: Tree, place: str, found: Findings) -> Tree:
    """A message that is not the model's, or a result."""
    match type_of(item):
        case "" | "message":
            content = contents(_chat_parts(item.get("content"), f"{place}.content", found))
            return {"role": item.get("role", "user"), "content": content}
        case "function_call_output":
            output = contents(_chat_parts(item.get("output"), f"{place}.output", found))
            return {"role": "tool", "tool_call_id": item.get("call_id"), "content": output}
        case "item_reference":
            found.loss("stored_response", place)
        case "custom_tool_call_output":
            found.loss("custom_tool", place)
        case _:
            found.loss("server_tool", place)
    return item


def _chat_parts(given: Json, place: str, found: Findings) -> Json:
    if not isinstance(given, Sequence) or isinstance(given, str):
        return given
    return [_chat_part(as_tree(part), f"{place}[{number}]", found) for number, part in enumerate(given)]


def _chat_part(part: Tree, place: str, found: Findings) -> Tree:
    """A part of chat completions; what is none stays as it is."""
    if not is_empty(part.get("file_id")):
        found.loss("stored_file", f"{place}.file_id")
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
            found.loss("unknown", place)
            return part


def _chat_options(tree: Tree, found: Findings) -> Tree:
    options: dict[str, Json] = {key: tree[key] for key in _SAME if not is_empty(tree.get(key))}
    if tree.get("parallel_tool_calls") is False:
        options["parallel_tool_calls"] = False
    if tree.get("store") is True:  # that it is stored if nothing is said is no wish
        options["store"] = True
    if tree.get("max_output_tokens") is not None:
        options["max_tokens"] = tree["max_output_tokens"]
    _translate_reasoning(tree, options, found)
    _translate_format(tree_at(tree, "text"), options, found)
    for wanted in items_of(tree, "include"):
        if wanted == "reasoning.encrypted_content":
            found.hint("encrypted_content")
        else:
            logprobs = isinstance(wanted, str) and wanted.endswith("logprobs")
            found.loss("logprobs" if logprobs else "server_tool", f"include: {wanted}")
    if tree.get("truncation") not in (None, "disabled"):
        found.hint("truncation")
    tools = [
        _chat_tool(as_tree(entry), f"tools[{number}]", found)
        for number, entry in enumerate(items_of(tree, "tools"))
    ]
    if tools:
        options["tools"] = tools
    return {**options, **_chat_tool_choice(tree.get("tool_choice"), found)}


def _translate_reasoning(tree: Tree, options: dict[str, Json], found: Findings) -> None:
    wanted = tree_at(tree, "reasoning")
    if wanted.get("effort"):
        options["reasoning_effort"] = wanted["effort"]
    found.hints_in(wanted, frozenset({"summary", "generate_summary"}))
    found.others(wanted, frozenset({"effort", "summary", "generate_summary"}), "reasoning.")


def _translate_format(text: Tree, options: dict[str, Json], found: Findings) -> None:
    if text.get("verbosity"):
        options["verbosity"] = text["verbosity"]
    match tree_at(text, "format"):
        case {"type": "json_schema", **schema}:
            options["response_format"] = {"type": "json_schema", "json_schema": schema}
        case {"type": "json_object"}:
            options["response_format"] = {"type": "json_object"}
        case {"type": str() as kind} if kind != "text":
            found.loss("unknown", "text.format")
        case _:
            pass


def _chat_tool(entry: Tree, place: str, found: Findings) -> Tree:
    if type_of(entry) != "function":
        found.loss("custom_tool" if type_of(entry) == "custom" else "server_tool", place)
        return entry
    for key in entry:
        if key not in _OF_TOOL:
            found.hint(key)
    function: Tree = {
        key: value for key, value in entry.items() if key in _OF_TOOL and key != "type" and value is not None
    }
    return {"type": "function", "function": function}


def _chat_tool_choice(choice: Json, found: Findings) -> Tree:
    match choice:
        case None:
            return {}
        case str():
            return {"tool_choice": choice}
        case {"type": "function", "name": name}:
            return {"tool_choice": {"type": "function", "function": {"name": name}}}
        case _:
            found.loss("unknown", "tool_choice")
            return {}
