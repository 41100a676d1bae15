"""Messages of a conversation, and how each is written for a provider: the last step before sending.

The same message always gives the same text, so it is encoded once, when it joins the
:class:`~toolreel_core._conversation.transcript.Transcript`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple, TypeAlias, assert_never, cast

from toolreel_core._conversation.content_parts import (
    Audio,
    File,
    Image,
    Media,
    Part,
    Text,
    parts_text,
    readable_parts_text,
    wire_part,
    without_empty_fields,
)
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import (
    NOTHING,
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    list_at,
    merged,
    parse,
    read_json,
    text_at,
)
from toolreel_core._settings import (
    KEPT_IN,
    Provider,
    apply_transforms,
    neutralize_control_tokens,
    signature_skip_validator_if_missing,
)


def brief_repr(value: Any, *optional: str) -> str:  # noqa: ANN401 - any dataclass
    """The usual ``repr``, without these fields where they are empty; ``False`` is not.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Said:
    ...     text: str
    ...     parts: tuple = ()
    >>> brief_repr(Said("hi"), "parts")
    "Said(text='hi')"
    """
    given = [(item.name, getattr(value, item.name)) for item in fields(value) if item.repr]
    shown = [
        f"{name}={content!r}"
        for name, content in given
        if content or content is False or name not in optional
    ]
    return f"{type(value).__qualname__}({', '.join(shown)})"


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """Instructions to the model."""

    content: str

    def __post_init__(self) -> None:
        _check_text("content", self.content, 'write "\\n\\n".join(texts) for several texts')


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A message of the user."""

    content: str
    """Its text; where there are :attr:`parts`, all text in them."""
    parts: tuple[Part, ...] = ()
    """The whole message in order, if it has more than text; see :func:`user_message`."""
    name: str = ""
    """Name of the speaker, where several users speak; empty if it is not known."""

    def __post_init__(self) -> None:
        _check_text(
            "content", self.content, "write user_message([...]) for texts with images, audio and files"
        )
        if self.parts and self.content != parts_text(self.parts):
            raise ConfigError("content: it differs from the text of the parts; write user_message(parts)")

    def __repr__(self) -> str:
        return brief_repr(self, "parts", "name")


@dataclass(frozen=True, slots=True)
class SentCall:
    """A tool call as it is in the history that goes out."""

    id: str
    """Pairs the call with its :class:`ToolMessage`."""
    name: str
    arguments: str
    """Text of a JSON object; the model's own text, byte for byte, wherever that is one."""
    extras: JsonText = NOTHING
    """Fields of the provider's own that have to go back with the call, such as a thought signature: a JSON
    object that is merged into the call's entry."""

    def __post_init__(self) -> None:
        _check_text("id", self.id, "write SentCall(id, name, arguments)")
        _check_text("name", self.name, "write SentCall(id, name, arguments)")
        _check_text("arguments", self.arguments, "write json.dumps(arguments)")
        if self.extras is not NOTHING:
            _check_extras(self.extras)


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """A message of the model: text, or tool calls without text."""

    content: str
    calls: tuple[SentCall, ...] = ()
    extras: JsonText = NOTHING
    """Fields of the provider's own that have to go back with the message, such as ``reasoning_content``:
    a JSON object that is merged into the message."""

    def __post_init__(self) -> None:
        _check_text("content", self.content, 'write "" for a message that has calls alone')
        calls: object = self.calls
        if calls != () and not (
            isinstance(calls, tuple) and all(isinstance(call, SentCall) for call in calls)
        ):
            raise ConfigError("calls: expected a tuple of SentCall; write (SentCall(id, name, arguments),)")
        if self.extras is not NOTHING:
            _check_extras(self.extras)


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The result of one tool call."""

    call_id: str
    content: str
    """The text of an :class:`~toolreel_core._tools.results.Envelope`."""
    name: str = ""
    """The tool's outward name, for providers that want it told."""
    parts: tuple[Media, ...] = ()
    """What the tool gave besides text; the content mentions each by its label."""

    def __post_init__(self) -> None:
        _check_text("call_id", self.call_id, "write the id of the call that it answers")
        _check_text("content", self.content, "write json.dumps(result)")

    def __repr__(self) -> str:
        return brief_repr(self, "parts")


Message: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolMessage
"""A message of a conversation."""


def wire_text(message: Message) -> JsonText:
    """The canonical JSON text of a message in the chat-completions form."""
    return canonical(wire_tree(message))


def wire_tree(message: Message) -> Tree:
    return _message_tree(message, wire_part)


def _message_tree(message: Message, write_part: Callable[[Part], Tree]) -> Tree:
    """A message of chat completions, with its parts as this form writes them."""
    parts = [*map(write_part, parts_of_message(message))]
    match message:
        case SystemMessage():
            return {"role": "system", "content": message.content}
        case UserMessage():
            by: Tree = {"name": message.name} if message.name else {}
            return {"role": "user", **by, "content": parts or message.content}
        case AssistantMessage():
            tree: dict[str, Json] = {"role": "assistant", "content": message.content}
            if message.calls:
                functions = [(one, {"name": one.name, "arguments": one.arguments}) for one in message.calls]
                tree["tool_calls"] = [
                    _merge_extras({"id": one.id, "type": "function", "function": function}, one.extras)
                    for one, function in functions
                ]
            return _merge_extras(tree, message.extras)
        case ToolMessage():
            named = {"name": message.name} if message.name else {}
            content = [write_part(Text(message.content)), *parts] if parts else message.content
            return {"role": "tool", "tool_call_id": message.call_id, **named, "content": content}
        case _:
            assert_never(message)


def parts_of_message(message: Message) -> tuple[Part, ...]:
    return message.parts if isinstance(message, UserMessage | ToolMessage) else ()


def readable_content(message: Message) -> str:
    """The content as people read it; that of a tool's result mentions its parts already."""
    if isinstance(message, UserMessage) and message.parts:
        return readable_parts_text(message.parts)
    return message.content


def _check_text(place: str, given: object, instead: str) -> None:
    if not isinstance(given, str):
        raise ConfigError(f"{place}: expected a text, got {type(given).__name__}; {instead}")


def _check_extras(extras: JsonText) -> None:
    """Checks the first character only: canonical JSON text has no leading space."""
    if not extras.startswith("{"):
        raise ConfigError(f"extras: expected a JSON object, got {extras}")


def _merge_extras(tree: Tree, extras: JsonText) -> Tree:
    return tree if extras == NOTHING else merged(tree, cast("Tree", parse(extras)))


_Quirk: TypeAlias = Callable[[Tree, Provider], Tree]

_ANY = Provider()
REASONING = ("reasoning_content", "reasoning")


@dataclass(frozen=True, slots=True)
class Form:
    """The settings that decide how messages are encoded in a run."""

    provider: Provider = _ANY
    message_transforms: tuple[str, ...] = ()
    estimator: str = ""
    """Name of the function that estimates tokens; empty where nobody wants to know."""
    is_plain: bool = field(init=False, repr=False, compare=False)
    """Whether no message is written differently for this provider."""

    @property
    def has_separate_system(self) -> bool:
        """Whether the system's text has a field of its own in this form, instead of being a message."""
        return self.provider.wire_form == "messages"

    def __post_init__(self) -> None:
        if self.message_transforms and self.provider.wire_form != "chat_completions":
            raise ConfigError(
                "message_transforms: they change chat completions, and wire_form is "
                f"{self.provider.wire_form!r}; leave them out"
            )
        names = ("wire_form", "special_token_guard", *_QUIRKS)
        usual = all(getattr(self.provider, name) == getattr(_ANY, name) for name in names)
        object.__setattr__(self, "is_plain", usual and not self.message_transforms)


class Written(NamedTuple):
    text: JsonText
    quirks: tuple[str, ...] = ()
    """Names of the settings and transforms that changed it."""
    further: tuple[JsonText, ...] = ()
    """The texts behind it, in a form in which a message is several elements."""


def write_message(message: Message, form: Form, *, opens: bool = True, closes: bool = True) -> Written:
    """The text of a message; of a result, whether it ``opens`` or ``closes`` its turn.

    :param opens: of a result: whether it is the first of its turn
    :param closes: of a result: whether it is the last of its turn
    """
    if form.is_plain:
        return Written(wire_text(message))
    quirks = list[str]()
    if form.provider.special_token_guard and isinstance(message, ToolMessage):
        # Control tokens, with which a tool's output could speak as the user (ggml-org/llama.cpp#26273). They
        # occur only inside the strings of a JSON text, so the result stays valid JSON.
        guarded = replace(message, content=neutralize_control_tokens(message.content))
        quirks += ["special_token_guard"] if guarded != message else []
        message = guarded
    if form.provider.wire_form == "responses":
        first, *further = map(canonical, _input_items(message))
        return Written(first, tuple(quirks), tuple(further))
    if form.has_separate_system:
        return Written(_message_json_in_messages_form(message, opens=opens, closes=closes), tuple(quirks))
    tree = wire_tree(message)
    for name, quirk in _QUIRKS.items() if isinstance(message, AssistantMessage) else ():
        changed = quirk(tree, form.provider)
        quirks += [name] if changed != tree else []
        tree = changed
    applied = apply_transforms("message", form.message_transforms, tree)
    return Written(canonical(applied.tree), (*quirks, *applied.changed))


def _with_tool_turn_content(tree: Tree, provider: Provider) -> Tree:
    """Bedrock refuses ``""`` with calls, Ollama ``null``; vLLM wants the key absent (vercel/ai#13505)."""
    if "tool_calls" not in tree or str(tree.get("content") or "").strip():
        return tree
    if provider.tool_turn_content == "omit":
        return {key: value for key, value in tree.items() if key != "content"}
    content = {"empty": tree.get("content"), "null": None, "space": " "}[provider.tool_turn_content]
    return {**tree, "content": content} if "content" in tree else tree


def _with_reasoning_field(tree: Tree, provider: Provider) -> Tree:
    """One server says ``reasoning`` and reads ``reasoning_content``, another the other way round."""
    chosen = provider.reasoning_field
    if not chosen or chosen in tree:
        return tree
    return {chosen if key in REASONING else key: value for key, value in tree.items()}


def _with_required_reasoning(tree: Tree, provider: Provider) -> Tree:
    """DeepSeek's thinking mode and Kimi refuse a tool turn without its reasoning (esengine/reasonix#4022)."""
    on = provider.reasoning_required_on
    required = on == "all_assistant" or (on == "tool_turns" and "tool_calls" in tree)
    field = provider.reasoning_field or REASONING[0]
    # Some servers say null in every message, and mean none.
    if not required or any(tree.get(key) for key in (field, *REASONING)):
        return tree
    return {**tree, field: provider.reasoning_placeholder}


def _adapt_to_signature_channel(tree: Tree, provider: Provider) -> Tree:
    if provider.signature_channel == "extra_content":
        # Gemini wants a signature on the first call of a step; a foreign history has none.
        calls = list_at(tree, "tool_calls")
        return tree if any(map(_has_provider_fields, calls)) else signature_skip_validator_if_missing(tree)
    details = list_at(tree, "reasoning_details")
    if provider.signature_channel == "none" or not details:
        return tree
    # OpenRouter's Gemini refuses its own thoughts as text, and needs the encrypted ones.
    return {
        **tree,
        "reasoning_details": [entry for entry in details if not _is_gemini_reasoning_text(as_tree(entry))],
    }


def _has_provider_fields(call: Json) -> bool:
    """Whether a call has any field of a provider's own: not all put the signature in the same place."""
    match call:
        case {"id": _, "type": _, "function": {"name": _, "arguments": _, **inside}, **beside}:
            return bool(inside or beside)
        case _:
            return False


def _is_gemini_reasoning_text(entry: Tree) -> bool:
    form, kind = str(entry.get("format")), entry.get("type")
    return form.startswith("google-gemini") and isinstance(kind, str) and kind != "reasoning.encrypted"


# The order matters: if the placeholder came first, `reasoning: null` would go out next to it.
_QUIRKS: Mapping[str, _Quirk] = {
    "tool_turn_content": _with_tool_turn_content,
    "reasoning_field": _with_reasoning_field,
    "reasoning_required_on": _with_required_reasoning,
    "signature_channel": _adapt_to_signature_channel,
}


# Messages in the forms of Anthropic's Messages and of OpenAI's Responses.
#
# In Messages, a message has a list of blocks, and the results of a turn are blocks of one message of the user
# (https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use). Each result is encoded
# when it is appended, so the first of a turn opens that message, and the last one closes it. In Responses,
# the input is one list of items: a reply with two calls is a message and two calls, each an item of its own
# (https://platform.openai.com/docs/guides/migrate-to-responses).
#
# What a reply had besides text and calls is put back between them.
# Reasoning and its signatures have to come back verbatim and in their place: Anthropic rejects a call whose
# thinking is missing or changed, OpenAI a reasoning item without the item that followed it. Texts and calls
# are the message's own, since ids, arguments and text may have been repaired.


class Items(NamedTuple):
    """How a form writes the items of a reply."""

    is_call: Callable[[Json], bool]
    text_in: Callable[[Json], str | None]
    """The text of an item that is text; ``None`` of any other."""
    text: Callable[[str], Json]
    call: Callable[[SentCall, Json], Json]
    """A call, with the kept item in whose place it stands; null if there is none."""
    key: str = ""
    """The key in a message's extras under which the items of a reply are kept."""
    may_go_back: Callable[[Json], bool] = bool
    """Whether the form takes a kept item that is neither a text nor a call."""

    def of(self, message: AssistantMessage) -> list[Json]:
        """The items of a message, in order: those that were kept, if the message still says the same."""
        extras = {} if message.extras == NOTHING else as_tree(parse(message.extras))
        kept = [
            item
            for item in list_at(extras, self.key)
            if self._is_text_or_call(item) or self.may_go_back(item)
        ]
        return self.kept_items_with_calls(kept, message.content, message.calls)

    def kept_items_with_calls(
        self, kept: Sequence[Json], content: str, sent_calls: Sequence[SentCall]
    ) -> list[Json]:
        """Kept items with these calls in their places, or before the text and calls if those have changed."""
        text = "".join(text for item in kept if (text := self.text_in(item)) is not None).strip()
        calls, said = sum(map(self.is_call, kept)), content.strip()
        # With calls, the loop stores no text.
        if kept and calls == len(sent_calls) and (text == said or (calls > 0 and not said)):
            sent = iter(sent_calls)
            return [self.call(next(sent), item) if self.is_call(item) else item for item in kept]
        others = [item for item in kept if not self._is_text_or_call(item)]
        return [
            *others,
            *([self.text(content)] if said else []),
            *(self.call(call, None) for call in sent_calls),
        ]

    def _is_text_or_call(self, item: Json) -> bool:
        return self.is_call(item) or self.text_in(item) is not None


def _item_type(item: Json) -> Json:
    return as_tree(item).get("type")


def _message_json_in_messages_form(message: Message, *, opens: bool, closes: bool) -> JsonText:
    """The text of an element of ``messages``; of a result a piece of one, of the system what stands apart."""
    if isinstance(message, AssistantMessage):
        return canonical({"role": "assistant", "content": MESSAGES_ITEMS.of(message)})
    content = _message_tree(message, _part_block)["content"]
    if isinstance(message, SystemMessage):
        return canonical(content)
    if isinstance(message, UserMessage):
        return canonical({"role": "user", "content": content})
    block: Tree = {"type": "tool_result", "tool_use_id": message.call_id, "content": content}
    opening, closing = '{"role":"user","content":[' if opens else "", "]}" if closes else ""
    return JsonText(f"{opening}{canonical(block)}{closing}")


def _block_text(block: Json) -> str | None:
    return text_at(as_tree(block), "text") if _item_type(block) == "text" else None


def _block_may_go_back(block: Json) -> bool:
    """Anthropic refuses a thought without a signature; servers that sign none do without (kekzl/imp#1555)."""
    return _item_type(block) != "thinking" or bool(as_tree(block).get("signature"))


def _tool_use_block(call: SentCall, kept: Json) -> Tree:
    tree = read_json(call.arguments).value_or(None)
    # The form demands an object.
    given = tree if isinstance(tree, Mapping) else {"unreadable_arguments": call.arguments}
    return {**as_tree(kept), "type": "tool_use", "id": call.id, "name": call.name, "input": given}


MESSAGES_ITEMS = Items(
    key=KEPT_IN["messages"],
    is_call=lambda block: _item_type(block) == "tool_use",
    text_in=_block_text,
    may_go_back=_block_may_go_back,
    text=lambda text: {"type": "text", "text": text},
    call=_tool_use_block,
)


def _part_block(part: Part) -> Tree:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Image():
            return {"type": "image", "source": _block_source(part)}
        case File():
            return without_empty_fields(type="document", source=_block_source(part), title=part.name)
        case Audio():
            # The form has no sound, so this is only reached if somebody sets `supports_audio` to "yes".
            return {"type": "text", "text": part.label}
        case _:
            assert_never(part)


def _block_source(part: Image | File) -> Tree:
    source = part.source
    if isinstance(source, str):
        return {"type": "url", "url": source}
    if source.media_type.startswith("text/"):
        return {"type": "text", "media_type": "text/plain", "data": source.data.decode("utf-8", "replace")}
    return {"type": "base64", "media_type": source.media_type, "data": source.base64}


def _input_items(message: Message) -> Sequence[Json]:
    """The items of ``input`` that a message is."""
    if isinstance(message, AssistantMessage):
        # One whose only item may not go back is an empty text, since a message is at least one item.
        return INPUT_ITEMS.of(message) or [INPUT_ITEMS.text("")]
    tree = _message_tree(message, _responses_input_part)
    if isinstance(message, ToolMessage):
        return [{"type": "function_call_output", "call_id": message.call_id, "output": tree["content"]}]
    return [{"role": tree["role"], "content": tree["content"]}]


def _is_call_placeholder(item: Json) -> bool:
    """Whether a call stands here; one that the server has run itself is kept whole, with its id."""
    return _item_type(item) == "function_call" and "call_id" not in as_tree(item)


def _item_text(item: Json) -> str | None:
    if _item_type(item) != "message":
        return None
    parts = map(as_tree, list_at(as_tree(item), "content"))
    return "".join(text_at(part, "refusal") or text_at(part, "text") for part in parts)


def _may_resend_item(item: Json) -> bool:
    """Reasoning that the server did not keep is only known by its content (``store`` is false)."""
    tree = as_tree(item)
    return _item_type(item) != "reasoning" or bool(tree.get("encrypted_content") or tree.get("content"))


def _function_call_item(call: SentCall, kept: Json) -> Tree:
    own: Tree = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
    return {**as_tree(kept), "type": "function_call", **own}


INPUT_ITEMS = Items(
    key=KEPT_IN["responses"],
    is_call=_is_call_placeholder,
    text_in=_item_text,
    may_go_back=_may_resend_item,
    # In full, since llama.cpp refuses an assistant's message whose content is a text.
    text=lambda text: {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
    },
    call=_function_call_item,
)


def _responses_input_part(part: Part) -> Tree:
    match part:
        case Text():
            return {"type": "input_text", "text": part.text}
        case Image():
            return without_empty_fields(type="input_image", image_url=part.url, detail=part.detail)
        case File():
            key = "file_url" if isinstance(part.source, str) else "file_data"
            return without_empty_fields(type="input_file", filename=part.name, **{key: part.url})
        case Audio():
            return {"type": "input_text", "text": part.label}  # see `_part_block`
        case _:
            assert_never(part)
