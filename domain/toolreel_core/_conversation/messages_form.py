"""Messages of a conversation in the form of Anthropic's Messages.

A message has a list of blocks, and the results of a turn are blocks of one message of the user
(https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use). Each result is encoded
when it is appended, so the first of a turn opens that message, and the last one closes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias, assert_never

from toolreel_core._conversation.content_parts import Audio, File, Image, Part, Text
from toolreel_core._conversation.message import AssistantMessage, Items, SentCall, ToolMessage, UserMessage
from toolreel_core._jsontext import Json, JsonText, Tree, canonical, read
from toolreel_core._settings import MESSAGES_BLOCKS

_UNREADABLE: Final = "unreadable_arguments"
"""The key of an ``input`` whose text is no object, which the form demands."""

Sent: TypeAlias = UserMessage | AssistantMessage | ToolMessage
"""What is an element of ``messages``; what the system says has a place of its own."""


def encoded(message: Sent, *, opens: bool = True, closes: bool = True) -> JsonText:
    """The text of an element of ``messages``, or of a piece of one.

    >>> encoded(UserMessage("Hello."))
    '{"role":"user","content":"Hello."}'
    >>> encoded(ToolMessage("toolu_1", "4"), closes=False)
    '{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"4"}'

    :param opens: of a result: whether it is the first of its turn
    :param closes: of a result: whether it is the last of its turn
    """
    match message:
        case UserMessage():
            blocks = [*map(_part_block, message.parts)]
            return canonical({"role": "user", "content": blocks or message.content})
        case AssistantMessage():
            return canonical({"role": "assistant", "content": _ITEMS.of(message)})
        case ToolMessage():
            opening, closing = '{"role":"user","content":[' if opens else "", "]}" if closes else ""
            return JsonText(f"{opening}{canonical(_tool_result_block(message))}{closing}")
        case _:
            assert_never(message)


def _block_type(block: Json) -> Json:
    return block.get("type") if isinstance(block, Mapping) else None


def _block_text(block: Json) -> str | None:
    text = block.get("text") if isinstance(block, Mapping) and _block_type(block) == "text" else None
    return text if isinstance(text, str) else None


def _may_go_back(block: Json) -> bool:
    """Anthropic refuses a thought without a signature, and servers that sign none can do without it."""
    return _block_type(block) != "thinking" or (isinstance(block, Mapping) and bool(block.get("signature")))


def _tool_use_block(call: SentCall, kept: Json) -> Tree:
    beside = kept if isinstance(kept, Mapping) else {}
    return {
        **beside,
        "type": "tool_use",
        "id": call.id,
        "name": call.name,
        "input": _tool_input(call.arguments),
    }


def _tool_input(arguments: str) -> Json:
    tree = read(arguments).value_or(None)
    return tree if isinstance(tree, Mapping) else {_UNREADABLE: arguments}


_ITEMS: Final = Items(
    key=MESSAGES_BLOCKS,
    is_call=lambda block: _block_type(block) == "tool_use",
    text_in=_block_text,
    may_go_back=_may_go_back,
    text=lambda text: {"type": "text", "text": text},
    call=_tool_use_block,
)


def _tool_result_block(message: ToolMessage) -> Tree:
    parts: list[Json] = [_part_block(Text(message.content)), *map(_part_block, message.parts)]
    content: Json = parts if message.parts else message.content
    return {"type": "tool_result", "tool_use_id": message.call_id, "content": content}


def _part_block(part: Part) -> Tree:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Image():
            return {"type": "image", "source": _part_source(part)}
        case File():
            title: Tree = {"title": part.name} if part.name else {}
            return {"type": "document", "source": _part_source(part), **title}
        case Audio():
            return {"type": "text", "text": part.label}  # the form has none; see `required_by_form`
        case _:
            assert_never(part)


def _part_source(part: Image | File) -> Tree:
    source = part.source
    if isinstance(source, str):
        return {"type": "url", "url": source}
    if source.media_type.startswith("text/"):
        return {"type": "text", "media_type": "text/plain", "data": source.data.decode("utf-8", "replace")}
    return {"type": "base64", "media_type": source.media_type, "data": source.base64}
