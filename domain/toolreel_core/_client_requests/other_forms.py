"""Requests in the forms of Anthropic's Messages and OpenAI's Responses, as chat completions say them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from toolreel_core._client_requests.losses import (
    AsChat,
    RequestFindings,
    TranslatedItem,
    assistant_entry,
    chat_content,
    chat_tools,
    is_empty,
    text_or_parts,
)
from toolreel_core._conversation import without_empty_fields
from toolreel_core._jsontext import Json, Tree, as_tree, list_at, tree_at
from toolreel_core._replies import messages_body_as_chat, responses_body_as_chat, type_of


def _options_at(tree: Tree, paths: Mapping[str, str]) -> dict[str, Json]:
    options = dict[str, Json]()
    for option, path in paths.items():
        *keys, last = path.split(".")
        value = tree_at(tree, *keys).get(last)
        # ``false`` means the same as leaving it out, but for this option, which is true by default.
        if not is_empty(value) or (value is False and option == "parallel_tool_calls"):
            options[option] = value
    return options


_MESSAGES_PATHS = {
    **{key: key for key in ("model", "max_tokens", "temperature", "top_p", "top_k", "stream")},
    "stop": "stop_sequences",
    "user": "metadata.user_id",
    "reasoning_effort": "output_config.effort",
}
_MESSAGES_HINTS = frozenset({
    "cache_control", "context_management", "inference_geo", "service_tier", "speed",
})  # fmt: skip
_MESSAGES_LOST = {"container": "server_tool", "mcp_servers": "server_tool"}
_MESSAGES_KEYS = frozenset({
    *(path.partition(".")[0] for path in _MESSAGES_PATHS.values()), "messages", "output_format", "system",
    "thinking", "tool_choice", "tools",
})  # fmt: skip
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
_OF_BLOCK: Mapping[str, frozenset[str]] = {
    "text": frozenset({"text"}),
    "tool_use": frozenset({"id", "name", "input"}),
    "tool_result": frozenset({"tool_use_id", "content", "is_error"}),
    "thinking": frozenset({"thinking", "signature"}),
    "image": frozenset({"source"}),
    "document": frozenset({"source", "title"}),
}
_OF_ANY = frozenset({"type", "citations"})
_HINTS_OF_ANY = frozenset({"cache_control", "context"})


def read_messages_request(tree: Tree) -> AsChat:
    found = RequestFindings()
    found.add_unknown_keys(tree, "", _MESSAGES_KEYS, _MESSAGES_HINTS, _MESSAGES_LOST)
    system: tuple[TranslatedItem, ...] = ()
    if not is_empty(given := tree.get("system")):
        content = chat_content(given, "system", found, _part_of_block)
        system = (TranslatedItem((), ({"role": "system", "content": content},)),)
    return _messages_request_options(tree, found), (*system, *_chat_messages(tree, found)), found


def _chat_messages(tree: Tree, found: RequestFindings) -> Iterator[TranslatedItem]:
    for number, entry in enumerate(map(as_tree, list_at(tree, "messages"))):
        content, place = entry.get("content"), f"messages[{number}].content"
        if entry.get("role") == "assistant" and isinstance(content, Sequence | None):
            yield TranslatedItem((entry,), (_assistant_message_of_blocks(entry, place, found),))
        elif isinstance(content, str) or not isinstance(content, Sequence):
            yield TranslatedItem((entry,), ({"role": entry.get("role"), "content": content},))
        else:
            yield TranslatedItem((entry,), tuple(_user_messages(entry, place, found)))


def _assistant_message_of_blocks(entry: Tree, place: str, found: RequestFindings) -> Tree:
    for number, block in enumerate(map(as_tree, list_at(entry, "content"))):
        at, kind = f"{place}[{number}]", type_of(block)
        if kind == "redacted_thinking":
            found.add_loss("encrypted_reasoning", at)
        elif kind not in {"text", "thinking", "tool_use"}:
            found.add_loss("server_tool" if "tool" in kind else "unknown", at)
        _note_extras(block, at, found)
    return assistant_entry(messages_body_as_chat({"content": entry.get("content")}))


def _user_messages(entry: Tree, place: str, found: RequestFindings) -> Iterator[Tree]:
    rest, blocks = list[Tree](), list_at(entry, "content")
    for number, block in enumerate(map(as_tree, blocks)):
        at = f"{place}[{number}]"
        if type_of(block) == "tool_result":
            _note_extras(block, at, found)
            if block.get("is_error"):
                found.add_hint("is_error")
            output = chat_content(block.get("content", ""), f"{at}.content", found, _part_of_block)
            yield {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": output}
        else:
            rest.append(_part_of_block(block, at, found))
    if rest or not blocks:
        yield {"role": entry.get("role"), "content": text_or_parts(rest)}


def _part_of_block(block: Tree, place: str, found: RequestFindings) -> Tree:
    """A block of the user as a part of chat completions; a block without such a part stays as it is."""
    source = tree_at(block, "source")
    _note_extras(block, place, found)
    match block:
        case _ if "file" in (type_of(block), type_of(source)):
            found.add_loss("stored_file", place)
        case {"type": "text", "text": str() as text}:
            return {"type": "text", "text": text}
        case {"type": "image"}:
            return {"type": "image_url", "image_url": {"url": _source_url(source)}}
        case {"type": "document"} if isinstance(source.get("content"), Sequence):
            found.add_loss("unknown", f"{place}.source.content")
        case {"type": "document"}:
            file = without_empty_fields(filename=block.get("title"))
            return {"type": "file", "file": {**file, "file_data": _source_url(source)}}
        case _:
            found.add_loss("unknown", place)
    return block


def _note_extras(block: Tree, place: str, found: RequestFindings) -> None:
    """Note what a block of a known type has in addition to its content."""
    if type_of(block) not in _OF_BLOCK:
        return
    found.add_unknown_keys(block, f"{place}.", _OF_ANY | _OF_BLOCK[type_of(block)], _HINTS_OF_ANY)
    if not is_empty(block.get("citations")) and tree_at(block, "citations").get("enabled") is not False:
        found.add_loss("citations", f"{place}.citations")


def _source_url(source: Tree) -> str:
    match source:
        case {"type": "base64", "media_type": str() as kind, "data": str() as data}:
            return f"data:{kind};base64,{data}"
        case {"type": "text", "data": str() as text}:
            return f"data:text/plain;base64,{b64encode(text.encode('utf-8', 'replace')).decode()}"
        case _:
            return str(source.get("url", ""))


def _messages_request_options(tree: Tree, found: RequestFindings) -> Tree:
    options = _options_at(tree, _MESSAGES_PATHS)
    if tree_at(tree, "metadata").keys() - {"user_id"}:
        found.add_hint("metadata")
    if not is_empty(tree.get("thinking")) and tree_at(tree, "thinking").get("type") != "disabled":
        found.add_hint("thinking")
    output = tree_at(tree, "output_config")
    found.add_unknown_keys(output, "output_config.", frozenset({"effort", "format"}))
    wanted = tree_at(output, "format") or tree_at(tree, "output_format")
    if "schema" in wanted:
        schema: Tree = {"name": "output", "schema": wanted["schema"], "strict": True}
        options["response_format"] = {"type": "json_schema", "json_schema": schema}
    choice = tree_at(tree, "tool_choice")
    kind = type_of(choice)
    if kind == "tool":
        options["tool_choice"] = {"type": "function", "function": {"name": choice.get("name")}}
    elif kind in _CHOICES:
        options["tool_choice"] = _CHOICES[kind]
    elif choice:
        found.add_loss("unknown", "tool_choice")
    if choice.get("disable_parallel_tool_use"):
        options["parallel_tool_calls"] = False
    # In Messages, tools that the client runs have the type ``custom`` or none.
    return {**options, **chat_tools(tree, (None, "custom"), "input_schema", found)}


# ``store`` only where the client sends it: that OpenAI stores by default is not a wish of the client.
_RESPONSES_PATHS = {
    **{key: key for key in (
        "metadata", "model", "parallel_tool_calls", "prompt_cache_key", "prompt_cache_retention",
        "safety_identifier", "service_tier", "store", "stream", "temperature", "top_p", "user",
    )},
    "max_tokens": "max_output_tokens",
    "reasoning_effort": "reasoning.effort",
    "verbosity": "text.verbosity",
}  # fmt: skip
_RESPONSES_HINTS = frozenset({"client_metadata", "max_tool_calls", "moderation", "context_management"})
_RESPONSES_LOST = {
    "previous_response_id": "stored_response",
    "conversation": "stored_response",
    "prompt": "stored_prompt",
    "background": "background",
    "top_logprobs": "logprobs",
}
_RESPONSES_KEYS = frozenset({
    *(path.partition(".")[0] for path in _RESPONSES_PATHS.values()), "include", "input", "instructions",
    "stream_options", "tool_choice", "tools", "truncation",
})  # fmt: skip
_TEXTS = frozenset({"text", "input_text", "output_text"})
_SAID = _TEXTS | {"refusal"}


def read_responses_request(tree: Tree) -> AsChat:
    """A request of Responses as one of chat completions.

    An item is a message, a call or a thought of its own; what the model said at once is one message here.
    """
    found = RequestFindings()
    found.add_unknown_keys(tree, "", _RESPONSES_KEYS, _RESPONSES_HINTS, _RESPONSES_LOST)
    given = tree.get("instructions")
    opening = () if is_empty(given) else (TranslatedItem((), ({"role": "system", "content": given},)),)
    said = (*opening, *_messages_of_items(tree, found))
    return _responses_request_options(tree, found), said, found


def _messages_of_items(tree: Tree, found: RequestFindings) -> Iterator[TranslatedItem]:
    given = tree.get("input")
    if isinstance(given, str):
        yield TranslatedItem(({"role": "user", "content": given},), ({"role": "user", "content": given},))
    items = [(f"input[{number}]", as_tree(item)) for number, item in enumerate(list_at(tree, "input"))]
    for of_model, run in groupby(items, lambda placed: _is_assistant_item(placed[1])):
        if of_model:
            yield _assistant_message_of_items([*run], found)
        else:
            yield from (
                TranslatedItem((item,), (_message_of_item(item, place, found),)) for place, item in run
            )


def _is_assistant_item(item: Tree) -> bool:
    kind = type_of(item)
    if kind in ("", "message"):
        return item.get("role") == "assistant"
    return not kind.endswith("_output") and kind != "item_reference"


def _assistant_message_of_items(turn: Sequence[tuple[str, Tree]], found: RequestFindings) -> TranslatedItem:
    for place, item in turn:
        match type_of(item):
            case "" | "message":
                for number, part in enumerate(map(as_tree, list_at(item, "content"))):
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
    return TranslatedItem(tuple(items), (assistant_entry(responses_body_as_chat({"output": items})),))


def _message_of_item(item: Tree, place: str, found: RequestFindings) -> Tree:
    match type_of(item):
        case "" | "message":
            content = chat_content(item.get("content"), f"{place}.content", found, _chat_content_part)
            return {"role": item.get("role", "user"), "content": content}
        case "function_call_output":
            output = chat_content(item.get("output"), f"{place}.output", found, _chat_content_part)
            return {"role": "tool", "tool_call_id": item.get("call_id"), "content": output}
        case "item_reference":
            found.add_loss("stored_response", place)
        case "custom_tool_call_output":
            found.add_loss("custom_tool", place)
        case _:
            found.add_loss("server_tool", place)
    return item


def _chat_content_part(part: Tree, place: str, found: RequestFindings) -> Tree:
    if not is_empty(part.get("file_id")):
        found.add_loss("stored_file", f"{place}.file_id")
        return part
    match part:
        case {"text": str() as text} if type_of(part) in _TEXTS:
            return {"type": "text", "text": text}
        case {"type": "input_image", "image_url": str() as url}:
            image = without_empty_fields(url=url, detail=part.get("detail"))
            return {"type": "image_url", "image_url": image}
        case {"type": "input_file"}:
            data = part.get("file_data") or part.get("file_url")
            file = without_empty_fields(filename=part.get("filename"))
            return {"type": "file", "file": {**file, "file_data": data}}
        case {"type": "input_audio", "input_audio": {}}:
            return part
        case _:
            found.add_loss("unknown", place)
            return part


def _responses_request_options(tree: Tree, found: RequestFindings) -> Tree:
    options = _options_at(tree, _RESPONSES_PATHS)
    summaries = frozenset({"summary", "generate_summary"})
    found.add_unknown_keys(tree_at(tree, "reasoning"), "reasoning.", frozenset({"effort"}), summaries)
    match tree_at(tree, "text", "format"):
        case {"type": "json_schema", **schema}:
            options["response_format"] = {"type": "json_schema", "json_schema": schema}
        case {"type": "json_object"}:
            options["response_format"] = {"type": "json_object"}
        case {"type": str() as kind} if kind != "text":
            found.add_loss("unknown", "text.format")
        case _:
            pass
    for wanted in list_at(tree, "include"):
        # Not a loss: clients that could use it always ask (docs/decisions/0135).
        if wanted == "reasoning.encrypted_content":
            found.add_hint("encrypted_content")
        else:
            logprobs = isinstance(wanted, str) and wanted.endswith("logprobs")
            found.add_loss("logprobs" if logprobs else "server_tool", f"include: {wanted}")
    if tree.get("truncation") not in (None, "disabled"):
        found.add_hint("truncation")
    match tree.get("tool_choice"):
        case None:
            pass
        case str() as choice:
            options["tool_choice"] = choice
        case {"type": "function", "name": name}:
            options["tool_choice"] = {"type": "function", "function": {"name": name}}
        case _:
            found.add_loss("unknown", "tool_choice")
    return {**options, **chat_tools(tree, ("function",), "parameters", found)}
