"""A request of any client: read as far as the proxy understands it, and kept as it came.

What the proxy does not understand is not an error: another server may. So an unknown option, a message of an
unknown shape or a tool of an unknown type goes out as it came, and only the repairs that would have needed it
are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from toolreel_core._client_requests.losses import Loss, RequestFindings, TranslatedItem
from toolreel_core._client_requests.other_forms import read_messages_request, read_responses_request
from toolreel_core._conversation import (
    AssistantMessage,
    Message,
    ToolMessage,
    UserMessage,
    parse_chat_message,
)
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import (
    Json,
    JsonText,
    Tree,
    as_list,
    as_tree,
    canonical,
    list_at,
    parse,
    read_json,
    text_at,
    tree_at,
    without_non_finite_numbers,
)
from toolreel_core._settings import WireForm
from toolreel_core._tools import ToolDefinition, ToolSurface

_NO_TOOLS = ToolSurface()


@dataclass(frozen=True, slots=True)
class Refusal:
    message: str
    param: str | None = None
    """The key that is wrong."""


@dataclass(frozen=True, slots=True)
class ClientRequest:
    tree: Tree
    """The body as chat completions say it; as the client sent it, if that is its form."""
    model: str
    messages: tuple[Message, ...] | None
    """What its messages mean; ``None`` if one of them means nothing to us."""
    tools: ToolSurface = field(default=_NO_TOOLS, repr=False)
    """The functions that the model may call, as far as they could be read."""
    form: WireForm = "chat_completions"
    """The form in which the client asks, and is answered."""
    own: Tree = field(default_factory=dict, repr=False)
    """The body as the client sent it, if it is in another form than chat completions."""
    read_from: tuple[TranslatedItem, ...] = field(default=(), repr=False)
    """Its messages in both forms, then."""
    losses: tuple[Loss, ...] = ()
    """What another form can't say of it."""
    hints: tuple[str, ...] = ()
    """What another form leaves out of it."""

    @property
    def body(self) -> Tree:
        return self.own or self.tree

    @property
    def said(self) -> Sequence[TranslatedItem]:
        """What the client wrote at each place, and the messages that it is."""
        return self.read_from or [TranslatedItem((entry,), (as_tree(entry),)) for entry in self.entries]

    @property
    def entries(self) -> Sequence[Json]:
        return list_at(self.tree, "messages")

    @property
    def streamed(self) -> bool:
        return self.tree.get("stream") is True

    @property
    def wants_usage(self) -> bool:
        return tree_at(self.tree, "stream_options").get("include_usage") is True

    @property
    def choices(self) -> int:
        wanted = self.tree.get("n")
        return wanted if isinstance(wanted, int) and not isinstance(wanted, bool) else 1

    @property
    def turn(self) -> int:
        """The number of the reply in its conversation, counted from 1."""
        return 1 + sum(as_tree(entry).get("role") == "assistant" for entry in self.entries)

    @property
    def call_ids(self) -> frozenset[str]:
        said = (message for message in self.messages or () if isinstance(message, AssistantMessage))
        return frozenset(call.id for message in said for call in message.calls)

    @property
    def quotable_texts(self) -> tuple[str, ...]:
        """Texts of users and tools: a call in text that stands there word by word is a quotation."""
        return tuple(
            each.content for each in self.messages or () if isinstance(each, UserMessage | ToolMessage)
        )


def client_request(body: bytes | str, form: WireForm = "chat_completions") -> ClientRequest | Refusal:
    """The request in a body of this form, or why the body is not a request."""
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    tree = read_json(text).value_or(None)
    if not isinstance(tree, Mapping):
        return Refusal("The body is not a JSON object.")
    if refusal := _request_refusal(tree, form):
        return refusal
    own: Tree = {}
    options, said, found = tree, tuple[TranslatedItem, ...](), RequestFindings()
    entries = [*map(as_tree, list_at(tree, "messages"))]
    if form != "chat_completions":
        read_form = read_messages_request if form == "messages" else read_responses_request
        own, (options, said, found) = tree, read_form(tree)
        entries = [entry for each in said for entry in each.chat]
    messages = _read_messages(entries, found)
    return ClientRequest(
        {**options, "messages": entries},
        text_at(tree, "model"),
        messages,
        _tool_surface(canonical(without_non_finite_numbers(options.get("tools")))),
        form,
        own,
        said,
        tuple(found.losses),
        tuple(found.hints),
    )


def _request_refusal(tree: Tree, form: WireForm) -> Refusal | None:
    key = "input" if form == "responses" else "messages"
    given: Json = tree.get(key)
    stored = given is None and tree.get("prompt")
    # A text, or a stored prompt instead of any input, counts as one item.
    if form == "responses" and (isinstance(given, str) or stored):
        given = [{}]
    if not isinstance(given, list) or not given or not all(isinstance(one, Mapping) for one in given):
        kinds = "a text or a list of items" if form == "responses" else "a list with at least one message"
        return Refusal(f"{key}: expected {kinds}.", key)
    if not isinstance(tree.get("model"), str | None):
        return Refusal("model: expected the name of a model.", "model")
    return None


def _read_messages(entries: Sequence[Tree], found: RequestFindings) -> tuple[Message, ...] | None:
    messages = list[Message]()
    for number, entry in enumerate(entries):
        try:
            messages.append(parse_chat_message(entry, f"messages[{number}]"))
        except ConfigError as error:
            stored = '"file_id"' in canonical(without_non_finite_numbers(entry))
            found.add_loss("stored_file" if stored else "unknown", str(error).partition(": ")[0])
            return None
    return tuple(messages)


# A conversation sends the same tools with every request, and reading schemas takes longest.
@lru_cache(maxsize=256)
def _tool_surface(tools: JsonText) -> ToolSurface:
    definitions: dict[str, ToolDefinition] = {}
    for entry in map(as_tree, as_list(parse(tools))):
        function = tree_at(entry, "function")
        parameters = function.get("parameters")
        schema = parameters if isinstance(parameters, Mapping) else None
        try:
            definition = ToolDefinition.of(text_at(function, "name"), "", schema)
        except ConfigError:  # a name or a schema that only this server knows
            continue
        definitions.setdefault(definition.outward, definition)
    return ToolSurface(tuple(definitions.values()))
