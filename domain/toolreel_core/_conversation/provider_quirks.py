"""Encode a message for one provider: the last step before sending.

The same message always gives the same text, so it is encoded once, when it is appended to the history.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeAlias, assert_never

from toolreel_core._conversation.message import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolMessage,
    wire,
    wire_tree,
)
from toolreel_core._conversation.other_forms import messages_text, responses_texts
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, JsonText, Tree, canonical, items_of
from toolreel_core._settings import Provider
from toolreel_core._transforms import apply_all, neutralized_content, signature_skip_validator_if_missing

_Quirk: TypeAlias = Callable[[Tree, Provider], Tree]

_ANY: Final = Provider()
REASONING: Final = ("reasoning_content", "reasoning")
"""The fields in which reasoning text comes."""


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
    def system_apart(self) -> bool:
        """Whether what the system says is no message."""
        return self.provider.wire_form == "messages"

    def __post_init__(self) -> None:
        """Refuse transforms where nothing is in the form that they change.

        :raises ConfigError: if there are transforms, and the provider speaks another form
        """
        if self.message_transforms and self.provider.wire_form != "chat_completions":
            raise ConfigError(
                "message_transforms: they change chat completions, and wire_form is "
                f"{self.provider.wire_form!r}; leave them out"
            )
        names = (name for quirks in _QUIRKS.values() for name in quirks)
        usual = all(getattr(self.provider, name) == getattr(_ANY, name) for name in names)
        object.__setattr__(self, "is_plain", usual and not self.message_transforms)


class Written(NamedTuple):
    """A message's text."""

    text: JsonText
    quirks: tuple[str, ...] = ()
    """Names of the settings and transforms that changed it."""
    further: tuple[JsonText, ...] = ()
    """The texts behind it, in a form in which a message is several elements."""


def written(message: Message, form: Form, *, opens: bool = True, closes: bool = True) -> Written:
    """Write a message.

    :param opens: of a result: whether it is the first of its turn
    :param closes: of a result: whether it is the last of its turn

    >>> said = AssistantMessage("It is 4.")
    >>> written(said, Form(Provider(reasoning_required_on="all_assistant"))).text
    '{"role":"assistant","content":"It is 4.","reasoning_content":""}'
    """
    if form.provider.wire_form != "chat_completions":
        return _written_in_other_form(message, form.provider, opens=opens, closes=closes)
    if form.is_plain:
        return Written(wire(message))
    tree, quirks = wire_tree(message), list[str]()
    for name, quirk in _QUIRKS.get(type(message), {}).items():
        changed = quirk(tree, form.provider)
        quirks += [name] if changed != tree else []
        tree = changed
    applied = apply_all("message", form.message_transforms, tree)
    return Written(canonical(applied.tree), (*quirks, *applied.changed))


def _written_in_other_form(message: Message, provider: Provider, *, opens: bool, closes: bool) -> Written:
    quirks: tuple[str, ...] = ()
    if provider.special_token_guard and isinstance(message, ToolMessage):
        guarded = replace(message, content=str(neutralized_content(message.content)))
        quirks = ("special_token_guard",) if guarded != message else ()
        message = guarded
    if provider.wire_form == "responses":
        first, *further = responses_texts(message)
        return Written(first, quirks, tuple(further))
    if isinstance(message, SystemMessage):
        return Written(canonical(message.content), quirks)
    return Written(messages_text(message, opens=opens, closes=closes), quirks)


def _tool_turn_content(tree: Tree, provider: Provider) -> Tree:
    """Bedrock refuses ``""`` with calls, Ollama ``null``; vLLM wants the key absent (vercel/ai#13505)."""
    if "tool_calls" not in tree or str(tree.get("content") or "").strip():
        return tree
    match provider.tool_turn_content:
        case "empty":
            return tree
        case "null":
            return {**tree, "content": None}
        case "omit":
            return {key: value for key, value in tree.items() if key != "content"}
        case "space":
            return {**tree, "content": " "}
        case _:
            assert_never(provider.tool_turn_content)


def _reasoning_field(tree: Tree, provider: Provider) -> Tree:
    """One server says ``reasoning`` and reads ``reasoning_content``, another the other way round."""
    chosen = provider.reasoning_field
    if not chosen or chosen in tree:
        return tree
    return {chosen if key in REASONING else key: value for key, value in tree.items()}


def _reasoning_required_on(tree: Tree, provider: Provider) -> Tree:
    """DeepSeek's thinking mode and Kimi refuse a tool turn without its reasoning (esengine/reasonix#4022)."""
    match provider.reasoning_required_on:
        case "none":
            return tree
        case "tool_turns":
            required = "tool_calls" in tree
        case "all_assistant":
            required = True
        case _:
            assert_never(provider.reasoning_required_on)
    field = provider.reasoning_field or REASONING[0]
    # Some servers say null in every message, and mean none.
    if not required or any(tree.get(key) for key in (field, *REASONING)):
        return tree
    return {**tree, field: provider.reasoning_placeholder}


def _signature_channel(tree: Tree, provider: Provider) -> Tree:
    match provider.signature_channel:
        case "none":
            return tree
        case "extra_content":
            return _with_signature(tree)
        case "reasoning_details":
            return _without_readable_thoughts(tree)
        case _:
            assert_never(provider.signature_channel)


def _with_signature(tree: Tree) -> Tree:
    """Gemini wants a signature on the first call of a step; a foreign history has none."""
    match tree.get("tool_calls"):
        case [*calls]:
            return tree if any(map(_is_signed, calls)) else signature_skip_validator_if_missing(tree)
        case _:
            return tree


def _is_signed(call: Json) -> bool:
    """Whether a call has any field of a provider's own: not all put the signature in the same place."""
    match call:
        case {"id": _, "type": _, "function": {"name": _, "arguments": _, **inside}, **beside}:
            return bool(inside or beside)
        case _:
            return False


def _without_readable_thoughts(tree: Tree) -> Tree:
    """OpenRouter's Gemini refuses its own thoughts as text, and needs the encrypted ones."""
    details = items_of(tree, "reasoning_details")
    kept: Tree = {"reasoning_details": [entry for entry in details if not _is_gemini_text(entry)]}
    return {**tree, **kept} if details else tree


def _is_gemini_text(entry: Json) -> bool:
    match entry:
        case {"format": str() as form, "type": str() as kind}:
            return form.startswith("google-gemini") and kind != "reasoning.encrypted"
        case _:
            return False


def _special_token_guard(tree: Tree, _: Provider) -> Tree:
    """Break control tokens, with which a tool's output could speak as the user (ggml-org/llama.cpp#26273).

    Control tokens occur only inside the strings of a JSON text, so the result stays valid JSON.
    """
    return {**tree, "content": neutralized_content(tree["content"])}


_QUIRKS: Final[Mapping[type[Message], Mapping[str, _Quirk]]] = {
    AssistantMessage: {
        "tool_turn_content": _tool_turn_content,
        "reasoning_field": _reasoning_field,
        "reasoning_required_on": _reasoning_required_on,
        "signature_channel": _signature_channel,
    },
    ToolMessage: {"special_token_guard": _special_token_guard},
}
"""The settings with which a provider may want a message differently, by its kind."""
