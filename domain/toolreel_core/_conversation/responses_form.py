"""Messages of a conversation in the form of OpenAI's Responses.

The input is one list of items: a reply with two calls is a message and two calls, each an item of its own
(https://platform.openai.com/docs/guides/migrate-to-responses).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, assert_never

from toolreel_core._conversation.content_parts import Audio, File, Image, Part, Text
from toolreel_core._conversation.message import (
    AssistantMessage,
    Items,
    Message,
    SentCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from toolreel_core._jsontext import Json, JsonText, Tree, canonical, items_of
from toolreel_core._settings import RESPONSES_ITEMS


def encoded(message: Message) -> tuple[JsonText, ...]:
    """The texts of the items of ``input`` that a message is.

    >>> encoded(AssistantMessage("Wait.", (SentCall("call_1", "ping", "{}"),)))[1]
    '{"type":"function_call","call_id":"call_1","name":"ping","arguments":"{}"}'
    """
    return tuple(map(canonical, _message_items(message)))


def _message_items(message: Message) -> list[Json]:
    match message:
        case SystemMessage():
            return [{"role": "system", "content": message.content}]
        case UserMessage():
            parts = [*map(_input_part, message.parts)]
            return [{"role": "user", "content": parts or message.content}]
        case AssistantMessage():
            # One whose only item may not go back is an empty text, since a message is at least one item.
            return _ITEMS.of(message) or [_ITEMS.text("")]
        case ToolMessage():
            shown: list[Json] = [_input_part(Text(message.content)), *map(_input_part, message.parts)]
            output: Json = shown if message.parts else message.content
            return [{"type": "function_call_output", "call_id": message.call_id, "output": output}]
        case _:
            assert_never(message)


def _is_call(item: Json) -> bool:
    """Whether a call stands here; one that the server has run itself is kept whole, with its id."""
    return isinstance(item, Mapping) and item.get("type") == "function_call" and "call_id" not in item


def _item_text(item: Json) -> str | None:
    if not isinstance(item, Mapping) or item.get("type") != "message":
        return None
    parts = [part for part in items_of(item, "content") if isinstance(part, Mapping)]
    return "".join(text for part in parts if isinstance(text := part.get("text"), str))


def _may_go_back(item: Json) -> bool:
    """Reasoning that the server did not keep is only known by its content (``store`` is false)."""
    if not isinstance(item, Mapping) or item.get("type") != "reasoning":
        return True
    return bool(item.get("encrypted_content") or item.get("content"))


def _function_call_item(call: SentCall, kept: Json) -> Tree:
    beside = kept if isinstance(kept, Mapping) else {}
    own: Tree = {
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
    }
    return {**beside, **own}


_ITEMS: Final = Items(
    key=RESPONSES_ITEMS,
    is_call=_is_call,
    text_in=_item_text,
    may_go_back=_may_go_back,
    # In full, since llama.cpp refuses an assistant's message whose content is a text.
    text=lambda text: {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
    },
    call=_function_call_item,
)


def _input_part(part: Part) -> Tree:
    match part:
        case Text():
            return {"type": "input_text", "text": part.text}
        case Image():
            detail: Tree = {"detail": part.detail} if part.detail else {}
            return {"type": "input_image", "image_url": _part_url(part), **detail}
        case File():
            name: Tree = {"filename": part.name} if part.name else {}
            key = "file_url" if isinstance(part.source, str) else "file_data"
            return {"type": "input_file", **name, key: _part_url(part)}
        case Audio():
            return {"type": "input_text", "text": part.label}  # the form has none; see `required_by_form`
        case _:
            assert_never(part)


def _part_url(part: Image | File) -> str:
    return part.source if isinstance(part.source, str) else part.source.data_url
