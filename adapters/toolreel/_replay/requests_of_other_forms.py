"""Requests of Responses and Messages as those of chat completions, in which conversations are compared.

What a run does not compare is left out: reasoning, signatures, and blocks of the server's own tools.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, assert_never

from toolreel._internal import JournalError
from toolreel_core._jsontext import Json, Tree, as_tree, canonical, items_of
from toolreel_core._settings import WireForm

_OWNED: Final = frozenset({"input", "instructions", "messages", "system", "tools", "tool_choice"})
_TEXTS: Final = frozenset({"text", "input_text", "output_text"})
_CHOICES: Final[Mapping[Json, str]] = {"any": "required", "auto": "auto", "none": "none"}


def as_chat_request(tree: Tree, form: WireForm, place: str) -> Tree:
    """The body of a request as one of chat completions.

    >>> as_chat_request({"model": "m", "input": "Hi."}, "responses", "it")
    {'model': 'm', 'messages': [{'role': 'user', 'content': 'Hi.'}]}

    :raises JournalError: if a part of the conversation is not in the request
    """
    match form:
        case "chat_completions":
            return tree
        case "responses":
            if tree.get("previous_response_id") or tree.get("conversation"):
                raise JournalError(
                    f"{place}: goes on with a response that the server has stored, so the tape lacks the "
                    "conversation; record with the whole input instead of previous_response_id"
                )
            messages = [*_system(tree.get("instructions")), *_joined(_of_items(tree.get("input")))]
        case "messages":
            messages = [*_system(tree.get("system")), *_of_messages(tree)]
        case _:
            assert_never(form)
    tools = [*map(_tool, items_of(tree, "tools"))]
    options = {key: value for key, value in tree.items() if key not in _OWNED}
    choice = _choice(tree.get("tool_choice"))
    return {
        **options,
        "messages": messages,
        **({"tools": tools} if tools else {}),
        **({"tool_choice": choice} if choice else {}),
    }


def _system(said: Json) -> Iterator[Tree]:
    text = said if isinstance(said, str) else "".join(_texts(said))
    if text:
        yield {"role": "system", "content": text}


def _texts(parts: Json) -> Iterator[str]:
    for part in parts if isinstance(parts, Sequence) and not isinstance(parts, str) else ():
        if isinstance(text := as_tree(part).get("text"), str):
            yield text


def _of_items(given: Json) -> Iterator[Tree]:
    """The messages of an ``input``, each call one of its own."""
    items: Sequence[Json] = [{"role": "user", "content": given}] if isinstance(given, str) else _list(given)
    for entry in map(as_tree, items):
        match entry.get("type", "message"):
            case "message":
                yield {"role": entry.get("role", "user"), "content": _content(entry.get("content"))}
            case "function_call":
                yield _calling([_call(entry.get("call_id"), entry.get("name"), entry.get("arguments"))])
            case "function_call_output":
                output = _content(entry.get("output"))
                yield {"role": "tool", "tool_call_id": entry.get("call_id"), "content": output}
            case _:
                continue


def _joined(messages: Iterator[Tree]) -> Iterator[Tree]:
    """Messages of the assistant that follow each other are one, since each item is one of its own."""
    last: Tree | None = None
    for message in messages:
        if last is not None and last["role"] == message["role"] == "assistant":
            calls: list[Json] = [*items_of(last, "tool_calls"), *items_of(message, "tool_calls")]
            content = f"{last['content'] or ''}{message['content'] or ''}"
            last = {**last, "content": content, **({"tool_calls": calls} if calls else {})}
            continue
        if last is not None:
            yield last
        last = message
    if last is not None:
        yield last


def _of_messages(tree: Tree) -> Iterator[Tree]:
    for entry in map(as_tree, items_of(tree, "messages")):
        blocks = [*map(as_tree, items_of(entry, "content"))]
        if entry.get("role") == "assistant":
            calls = [
                _call(block.get("id"), block.get("name"), canonical(block.get("input", {})))
                for block in blocks
                if block.get("type") == "tool_use"
            ]
            said = entry.get("content")
            yield _calling(calls, said if isinstance(said, str) else "".join(_texts(blocks)))
            continue
        for block in blocks:
            if block.get("type") == "tool_result":
                result = _content(block.get("content", ""))
                yield {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": result}
        rest: list[Json] = [block for block in blocks if block.get("type") != "tool_result"]
        if rest or not blocks:
            yield {"role": "user", "content": _content(rest if blocks else entry.get("content"))}


def _calling(calls: Sequence[Json], content: str = "") -> Tree:
    return {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}


def _call(id_: Json, name: Json, arguments: Json) -> Tree:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def _content(given: Json) -> Json:
    """A content of chat completions: a text, or parts if there is more than text."""
    if not isinstance(given, Sequence) or isinstance(given, str):
        return given
    parts = [*map(_part, map(as_tree, given))]
    if all(part["type"] == "text" for part in parts):
        return "".join(_texts(parts))
    return parts


def _part(part: Tree) -> Tree:
    match part:
        case {"type": kind} if kind in _TEXTS:
            return {"type": "text", "text": part.get("text", "")}
        case {"type": "input_image"}:
            detail: Tree = {"detail": part["detail"]} if part.get("detail") else {}
            return {"type": "image_url", "image_url": {"url": part.get("image_url"), **detail}}
        case {"type": "image", "source": source}:
            return {"type": "image_url", "image_url": {"url": _url(as_tree(source))}}
        case {"type": "input_file"}:
            data = part.get("file_data") or part.get("file_url")
            return {"type": "file", "file": {"filename": part.get("filename", ""), "file_data": data}}
        case {"type": "document", "source": source}:
            return {
                "type": "file",
                "file": {"filename": part.get("title", ""), "file_data": _url(as_tree(source))},
            }
        case _:
            return {**part, "type": part.get("type", "unknown")}


def _url(source: Tree) -> str:
    if source.get("type") == "base64":
        return f"data:{source.get('media_type')};base64,{source.get('data')}"
    return str(source.get("url", ""))


def _tool(entry: Json) -> Json:
    tree = as_tree(entry)
    if tree.get("type", "function") not in {"function", "custom"}:
        return entry
    function: Tree = {key: tree[key] for key in ("name", "description", "strict") if tree.get(key)}
    schema = tree.get("parameters") or tree.get("input_schema")
    return {"type": "function", "function": {**function, **({"parameters": schema} if schema else {})}}


def _choice(choice: Json) -> Json:
    match choice:
        case {"type": "tool" | "function", "name": str() as name}:
            return {"type": "function", "function": {"name": name}}
        case {"type": kind}:
            return _CHOICES.get(kind if isinstance(kind, str) else None)
        case _:
            return choice


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()
