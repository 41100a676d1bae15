"""A request in the form of Anthropic's Messages, as chat completions say it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from toolreel_core._client_requests.losses import AsChat, Findings, Said, contents, is_empty, said_by
from toolreel_core._jsontext import NOTHING, Json, Tree, as_tree, canonical, finite, items_of, parse, tree_at
from toolreel_core._replies import carried_in_messages, type_of

_HINTS: Final = frozenset({
    "cache_control", "context_management", "inference_geo", "service_tier", "speed",
})  # fmt: skip
_KNOWN: Final = _HINTS | {
    "container", "max_tokens", "mcp_servers", "messages", "metadata", "model", "output_config",
    "output_format", "stop_sequences", "stream", "system", "temperature", "thinking", "tool_choice",
    "tools", "top_k", "top_p",
}  # fmt: skip
_SAME: Final = ("model", "max_tokens", "temperature", "top_p", "top_k", "stream")
_CHOICES: Final[Mapping[str, Json]] = {"auto": "auto", "any": "required", "none": "none"}
_OF_TOOL: Final = frozenset({"type", "name", "description", "input_schema", "strict"})
_OF_BLOCK: Final[Mapping[str, frozenset[str]]] = {
    "text": frozenset({"text"}),
    "tool_use": frozenset({"id", "name", "input"}),
    "tool_result": frozenset({"tool_use_id", "content", "is_error"}),
    "thinking": frozenset({"thinking", "signature"}),
    "image": frozenset({"source"}),
    "document": frozenset({"source", "title", "context"}),
}
_OF_ANY: Final = frozenset({"type", "cache_control"})


def read(tree: Tree) -> AsChat:
    """The request as one of chat completions."""
    found = Findings()
    found.hints_in(tree, _HINTS)
    found.others(tree, _KNOWN, "")
    for key in ("container", "mcp_servers"):
        if not is_empty(tree.get(key)):
            found.loss("server_tool", key)
    said = (*_system_messages(tree, found), *_chat_messages(tree, found))
    return _chat_options(tree, found), said, found


def _system_messages(tree: Tree, found: Findings) -> Iterator[Said]:
    given = tree.get("system")
    if not is_empty(given):
        content = contents(_chat_parts(given, "system", found))
        yield Said((), ({"role": "system", "content": content},))


def _chat_messages(tree: Tree, found: Findings) -> Iterator[Said]:
    for number, entry in enumerate(map(as_tree, items_of(tree, "messages"))):
        place = f"messages[{number}].content"
        if entry.get("role") == "assistant":
            chat: tuple[Tree, ...] = (_assistant_message(entry.get("content"), place, found),)
        else:
            chat = tuple(_user_content(entry, place, found))
        yield Said((entry,), chat)


def _assistant_message(content: Json, place: str, found: Findings) -> Tree:
    if isinstance(content, str):
        return {"role": "assistant", "content": content}
    blocks = [*map(as_tree, content)] if isinstance(content, Sequence) else []
    texts, thoughts, calls = list[str](), list[str](), list[Json]()
    for number, block in enumerate(blocks):
        at = f"{place}[{number}]"
        match block:
            case {"type": "text", "text": str() as text}:
                texts.append(text)
            case {"type": "thinking", "thinking": str() as text}:
                thoughts.append(text)
            case {"type": "tool_use"}:
                arguments = canonical(finite(block.get("input", {})))
                function: Tree = {"name": block.get("name"), "arguments": arguments}
                calls.append({"id": block.get("id"), "type": "function", "function": function})
            case {"type": "redacted_thinking"}:
                found.loss("encrypted_reasoning", at)
            case _:
                found.loss("server_tool" if "tool" in type_of(block) else "unknown", at)
        if type_of(block) in _OF_BLOCK:
            _note_extras(block, at, found)
    carry = carried_in_messages(blocks)
    kept = {} if carry is NOTHING else as_tree(parse(carry))
    return {**said_by("".join(texts), "".join(thoughts), calls), **kept}


def _user_content(entry: Tree, place: str, found: Findings) -> Iterator[Tree]:
    """The results in a message of the user, and what else it says."""
    content = entry.get("content")
    if not isinstance(content, Sequence) or isinstance(content, str):
        yield {"role": entry.get("role"), "content": content}
        return
    rest: list[Json] = []
    for number, block in enumerate(map(as_tree, content)):
        at = f"{place}[{number}]"
        if type_of(block) == "tool_result":
            _note_extras(block, at, found)
            if block.get("is_error"):
                found.hint("is_error")
            output = contents(_chat_parts(block.get("content", ""), f"{at}.content", found))
            yield {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": output}
        else:
            rest.append(_chat_part(block, at, found))
    if rest or not content:
        yield {"role": entry.get("role"), "content": contents(rest)}


def _chat_parts(given: Json, place: str, found: Findings) -> Json:
    if not isinstance(given, Sequence) or isinstance(given, str):
        return given
    return [_chat_part(as_tree(block), f"{place}[{number}]", found) for number, block in enumerate(given)]


def _chat_part(block: Tree, place: str, found: Findings) -> Tree:
    """A block of the user as a part of chat completions; what is none stays as it is."""
    kind, source = type_of(block), tree_at(block, "source")
    if kind not in _OF_BLOCK or type_of(source) == "file":
        found.loss("stored_file" if "file" in (kind, type_of(source)) else "unknown", place)
        return block
    _note_extras(block, place, found)
    match block:
        case {"type": "text", "text": str() as text}:
            return {"type": "text", "text": text}
        case {"type": "image"}:
            return {"type": "image_url", "image_url": {"url": _source_url(source)}}
        case {"type": "document"} if isinstance(source.get("content"), Sequence):
            found.loss("unknown", f"{place}.source.content")
            return block
        case {"type": "document"}:
            title: Tree = {"filename": block["title"]} if block.get("title") else {}
            return {"type": "file", "file": {**title, "file_data": _source_url(source)}}
        case _:
            found.loss("unknown", place)
            return block


def _note_extras(block: Tree, place: str, found: Findings) -> None:
    """Note what a block has in addition to its content."""
    found.hints_in(block, frozenset({"cache_control", "context"}))
    if not is_empty(block.get("citations")) and tree_at(block, "citations").get("enabled") is not False:
        found.loss("citations", f"{place}.citations")
    found.others(block, _OF_ANY | _OF_BLOCK[type_of(block)] | {"citations"}, f"{place}.")


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
    _translate_metadata(tree, options, found)
    if not is_empty(tree.get("thinking")) and tree_at(tree, "thinking").get("type") != "disabled":
        found.hint("thinking")
    output = tree_at(tree, "output_config")
    if output.get("effort"):
        options["reasoning_effort"] = output["effort"]
    wanted = tree_at(output, "format") or tree_at(tree, "output_format")
    if "schema" in wanted:
        schema: Tree = {"name": "output", "schema": wanted["schema"], "strict": True}
        options["response_format"] = {"type": "json_schema", "json_schema": schema}
    found.others(output, frozenset({"effort", "format"}), "output_config.")
    tools = [
        _chat_tool(as_tree(entry), f"tools[{number}]", found)
        for number, entry in enumerate(items_of(tree, "tools"))
    ]
    if tools:
        options["tools"] = tools
    return {**options, **_chat_tool_choice(tree_at(tree, "tool_choice"), found)}


def _translate_metadata(tree: Tree, options: dict[str, Json], found: Findings) -> None:
    for key, value in tree_at(tree, "metadata").items():
        if key == "user_id" and isinstance(value, str):
            options["user"] = value
        else:
            found.hint("metadata")


def _chat_tool(entry: Tree, place: str, found: Findings) -> Tree:
    if entry.get("type") not in (None, "custom"):
        found.loss("server_tool", place)
        return entry
    for key in entry:
        if key not in _OF_TOOL:
            found.hint(key)
    function: dict[str, Json] = {key: entry[key] for key in ("name", "description", "strict") if key in entry}
    if "input_schema" in entry:
        function["parameters"] = entry["input_schema"]
    return {"type": "function", "function": function}


def _chat_tool_choice(choice: Tree, found: Findings) -> Tree:
    if not choice:
        return {}
    parallel: Tree = {"parallel_tool_calls": False} if choice.get("disable_parallel_tool_use") else {}
    kind = type_of(choice)
    if kind == "tool":
        return {"tool_choice": {"type": "function", "function": {"name": choice.get("name")}}, **parallel}
    if kind not in _CHOICES:
        found.loss("unknown", "tool_choice")
        return parallel
    return {"tool_choice": _CHOICES[kind], **parallel}
