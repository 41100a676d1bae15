"""Messages of a conversation in the forms of Anthropic's Messages and of OpenAI's Responses.

In Messages, a message has a list of blocks, and the results of a turn are blocks of one message of the user
(https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use). Each result is encoded when
it is appended, so the first of a turn opens that message, and the last one closes it. In Responses, the input
is one list of items: a reply with two calls is a message and two calls, each an item of its own
(https://platform.openai.com/docs/guides/migrate-to-responses).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, assert_never

from toolreel_core._conversation.content_parts import Audio, File, Image, Part, Text
from toolreel_core._conversation.message import (
    AssistantMessage,
    Message,
    SentCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from toolreel_core._jsontext import NOTHING, Json, JsonText, Tree, as_tree, canonical, items_of, parse, read
from toolreel_core._settings import MESSAGES_BLOCKS, RESPONSES_ITEMS

# What a reply had besides text and calls, put back between them.
#
# Reasoning and its signatures have to come back verbatim and in their place: Anthropic rejects a call whose
# thinking is missing or changed, OpenAI a reasoning item without the item that followed it. Texts and calls
# are the message's own, since ids, arguments and text may have been repaired.


class Items(NamedTuple):
    """How a form writes the items of a reply."""

    key: str
    """The key in a message's extras under which the items of a reply are kept."""
    is_call: Callable[[Json], bool]
    text_in: Callable[[Json], str | None]
    """The text of an item that is text; ``None`` of any other."""
    may_go_back: Callable[[Json], bool]
    """Whether the form takes a kept item that is neither a text nor a call."""
    text: Callable[[str], Json]
    call: Callable[[SentCall, Json], Json]
    """A call, with the kept item in whose place it stands; null if there is none."""

    def of(self, message: AssistantMessage) -> list[Json]:
        """The items of a message, in order."""
        kept = self._kept_items(message)
        if self._still_says(kept, message):
            return self._kept_with_calls(kept, message)
        others = [item for item in kept if self._is_neither_call_nor_text(item) and self.may_go_back(item)]
        text = [self.text(message.content)] if message.content.strip() else []
        return [*others, *text, *(self.call(call, None) for call in message.calls)]

    def _kept_items(self, message: AssistantMessage) -> Sequence[Json]:
        return () if message.extras == NOTHING else items_of(as_tree(parse(message.extras)), self.key)

    def _still_says(self, kept: Sequence[Json], message: AssistantMessage) -> bool:
        """Whether the message still says what the kept items say; with calls, the loop stores no text."""
        texts = "".join(text for item in kept if (text := self.text_in(item)) is not None)
        calls = sum(map(self.is_call, kept))
        said = message.content.strip()
        same = texts.strip() == said or (calls > 0 and not said)
        return bool(kept) and calls == len(message.calls) and same

    def _kept_with_calls(self, kept: Sequence[Json], message: AssistantMessage) -> list[Json]:
        calls = iter(message.calls)
        items = [self.call(next(calls), item) if self.is_call(item) else item for item in kept]
        return [item for item in items if not self._is_neither_call_nor_text(item) or self.may_go_back(item)]

    def _is_neither_call_nor_text(self, item: Json) -> bool:
        return not self.is_call(item) and self.text_in(item) is None


def _kind(item: Json) -> Json:
    return as_tree(item).get("type")


def messages_text(
    message: UserMessage | AssistantMessage | ToolMessage, *, opens: bool = True, closes: bool = True
) -> JsonText:
    """The text of an element of ``messages``, or of a piece of one.

    >>> messages_text(UserMessage("Hello."))
    '{"role":"user","content":"Hello."}'
    >>> messages_text(ToolMessage("toolu_1", "4"), closes=False)
    '{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"4"}'

    :param opens: of a result: whether it is the first of its turn
    :param closes: of a result: whether it is the last of its turn
    """
    match message:
        case UserMessage():
            blocks = [*map(_part_block, message.parts)]
            return canonical({"role": "user", "content": blocks or message.content})
        case AssistantMessage():
            return canonical({"role": "assistant", "content": MESSAGES_ITEMS.of(message)})
        case ToolMessage():
            opening, closing = '{"role":"user","content":[' if opens else "", "]}" if closes else ""
            return JsonText(f"{opening}{canonical(_tool_result_block(message))}{closing}")
        case _:
            assert_never(message)


def _block_text(block: Json) -> str | None:
    text = as_tree(block).get("text") if _kind(block) == "text" else None
    return text if isinstance(text, str) else None


def _block_may_go_back(block: Json) -> bool:
    """Anthropic refuses a thought without a signature, and servers that sign none can do without it."""
    return _kind(block) != "thinking" or bool(as_tree(block).get("signature"))


def _tool_use_block(call: SentCall, kept: Json) -> Tree:
    tree = read(call.arguments).value_or(None)
    # The form demands an object.
    given = tree if isinstance(tree, Mapping) else {"unreadable_arguments": call.arguments}
    return {**as_tree(kept), "type": "tool_use", "id": call.id, "name": call.name, "input": given}


MESSAGES_ITEMS: Final = Items(
    key=MESSAGES_BLOCKS,
    is_call=lambda block: _kind(block) == "tool_use",
    text_in=_block_text,
    may_go_back=_block_may_go_back,
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
            return {"type": "image", "source": _block_source(part)}
        case File():
            title: Tree = {"title": part.name} if part.name else {}
            return {"type": "document", "source": _block_source(part), **title}
        case Audio():
            return {"type": "text", "text": part.label}  # the form has none; see `required_by_form`
        case _:
            assert_never(part)


def _block_source(part: Image | File) -> Tree:
    source = part.source
    if isinstance(source, str):
        return {"type": "url", "url": source}
    if source.media_type.startswith("text/"):
        return {"type": "text", "media_type": "text/plain", "data": source.data.decode("utf-8", "replace")}
    return {"type": "base64", "media_type": source.media_type, "data": source.base64}


def responses_texts(message: Message) -> tuple[JsonText, ...]:
    """The texts of the items of ``input`` that a message is.

    >>> responses_texts(AssistantMessage("Wait.", (SentCall("call_1", "ping", "{}"),)))[1]
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
            return _RESPONSES_ITEMS.of(message) or [_RESPONSES_ITEMS.text("")]
        case ToolMessage():
            shown: list[Json] = [_input_part(Text(message.content)), *map(_input_part, message.parts)]
            output: Json = shown if message.parts else message.content
            return [{"type": "function_call_output", "call_id": message.call_id, "output": output}]
        case _:
            assert_never(message)


def _is_call_item(item: Json) -> bool:
    """Whether a call stands here; one that the server has run itself is kept whole, with its id."""
    return _kind(item) == "function_call" and "call_id" not in as_tree(item)


def _item_text(item: Json) -> str | None:
    if _kind(item) != "message":
        return None
    texts = (as_tree(part).get("text") for part in items_of(as_tree(item), "content"))
    return "".join(text for text in texts if isinstance(text, str))


def _item_may_go_back(item: Json) -> bool:
    """Reasoning that the server did not keep is only known by its content (``store`` is false)."""
    tree = as_tree(item)
    return _kind(item) != "reasoning" or bool(tree.get("encrypted_content") or tree.get("content"))


def _function_call_item(call: SentCall, kept: Json) -> Tree:
    own: Tree = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
    return {**as_tree(kept), "type": "function_call", **own}


_RESPONSES_ITEMS: Final = Items(
    key=RESPONSES_ITEMS,
    is_call=_is_call_item,
    text_in=_item_text,
    may_go_back=_item_may_go_back,
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
