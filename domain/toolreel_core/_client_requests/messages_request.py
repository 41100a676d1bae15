"""A request in the form of Anthropic's Messages, as chat completions say it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
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
    text_or_parts,
)
from toolreel_core._jsontext import Json, Tree, as_tree, items_of, tree_at
from toolreel_core._replies import chat_of_message, type_of

_SAME: Final = ("model", "max_tokens", "temperature", "top_p", "top_k", "stream")
_HINTS: Final = frozenset({
    "cache_control", "context_management", "inference_geo", "service_tier", "speed",
})  # fmt: skip
_LOST: Final[Mapping[str, LossCode]] = {"container": "server_tool", "mcp_servers": "server_tool"}
_KNOWN: Final = frozenset({
    *_SAME, "messages", "metadata", "output_config", "output_format", "stop_sequences", "system", "thinking",
    "tool_choice", "tools",
})  # fmt: skip
_CHOICES: Final[Mapping[str, Json]] = {"auto": "auto", "any": "required", "none": "none"}
_OF_BLOCK: Final[Mapping[str, frozenset[str]]] = {
    "text": frozenset({"text"}),
    "tool_use": frozenset({"id", "name", "input"}),
    "tool_result": frozenset({"tool_use_id", "content", "is_error"}),
    "thinking": frozenset({"thinking", "signature"}),
    "image": frozenset({"source"}),
    "document": frozenset({"source", "title"}),
}
_OF_ANY: Final = frozenset({"type", "citations"})
_HINTS_OF_ANY: Final = frozenset({"cache_control", "context"})


def read_request(tree: Tree) -> AsChat:
    """The request as one of chat completions."""
    found = Findings()
    found.add_unknown_keys(tree, "", _KNOWN, _HINTS, _LOST)
    system: tuple[Said, ...] = ()
    if not is_empty(given := tree.get("system")):
        content = content_of(given, "system", found, _chat_part)
        system = (Said((), ({"role": "system", "content": content},)),)
    return _chat_options(tree, found), (*system, *_chat_messages(tree, found)), found


def _chat_messages(tree: Tree, found: Findings) -> Iterator[Said]:
    for number, entry in enumerate(map(as_tree, items_of(tree, "messages"))):
        content, place = entry.get("content"), f"messages[{number}].content"
        if isinstance(content, str) or not isinstance(content, Sequence):
            if entry.get("role") == "assistant":
                content = content or ""
            yield Said((entry,), ({"role": entry.get("role"), "content": content},))
        elif entry.get("role") == "assistant":
            yield Said((entry,), (_assistant_message([*map(as_tree, content)], place, found),))
        else:
            yield Said((entry,), tuple(_user_messages(entry, place, found)))


def _assistant_message(blocks: Sequence[Tree], place: str, found: Findings) -> Tree:
    for number, block in enumerate(blocks):
        at, kind = f"{place}[{number}]", type_of(block)
        if kind == "redacted_thinking":
            found.add_loss("encrypted_reasoning", at)
        elif kind not in {"text", "thinking", "tool_use"}:
            found.add_loss("server_tool" if "tool" in kind else "unknown", at)
        _note_extras(block, at, found)
    return assistant_entry(chat_of_message({"content": blocks}))


def _user_messages(entry: Tree, place: str, found: Findings) -> Iterator[Tree]:
    """The results in a message of the user, and what else it says."""
    rest, blocks = list[Tree](), items_of(entry, "content")
    for number, block in enumerate(map(as_tree, blocks)):
        at = f"{place}[{number}]"
        if type_of(block) == "tool_result":
            _note_extras(block, at, found)
            if block.get("is_error"):
                found.add_hint("is_error")
            output = content_of(block.get("content", ""), f"{at}.content", found, _chat_part)
            yield {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": output}
        else:
            rest.append(_chat_part(block, at, found))
    if rest or not blocks:
        yield {"role": entry.get("role"), "content": text_or_parts(rest)}


def _chat_part(block: Tree, place: str, found: Findings) -> Tree:
    """A block of the user as a part of chat completions; what is none stays as it is."""
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
            title: Tree = {"filename": block["title"]} if block.get("title") else {}
            return {"type": "file", "file": {**title, "file_data": _source_url(source)}}
        case _:
            found.add_loss("unknown", place)
    return block


def _note_extras(block: Tree, place: str, found: Findings) -> None:
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


def _chat_options(tree: Tree, found: Findings) -> Tree:
    options: dict[str, Json] = {key: tree[key] for key in _SAME if key in tree}
    if not is_empty(tree.get("stop_sequences")):
        options["stop"] = tree["stop_sequences"]
    for key, value in tree_at(tree, "metadata").items():
        if key == "user_id" and isinstance(value, str):
            options["user"] = value
        else:
            found.add_hint("metadata")
    if not is_empty(tree.get("thinking")) and tree_at(tree, "thinking").get("type") != "disabled":
        found.add_hint("thinking")
    output = tree_at(tree, "output_config")
    found.add_unknown_keys(output, "output_config.", frozenset({"effort", "format"}))
    if output.get("effort"):
        options["reasoning_effort"] = output["effort"]
    wanted = tree_at(output, "format") or tree_at(tree, "output_format")
    if "schema" in wanted:
        schema: Tree = {"name": "output", "schema": wanted["schema"], "strict": True}
        options["response_format"] = {"type": "json_schema", "json_schema": schema}
    tools = chat_tools(tree, (None, "custom"), "input_schema", found)
    return {**options, **tools, **_chat_tool_choice(tree_at(tree, "tool_choice"), found)}


def _chat_tool_choice(choice: Tree, found: Findings) -> Tree:
    parallel: Tree = {"parallel_tool_calls": False} if choice.get("disable_parallel_tool_use") else {}
    kind = type_of(choice)
    if kind == "tool":
        return {"tool_choice": {"type": "function", "function": {"name": choice.get("name")}}, **parallel}
    if kind in _CHOICES:
        return {"tool_choice": _CHOICES[kind], **parallel}
    if choice:
        found.add_loss("unknown", "tool_choice")
    return parallel
