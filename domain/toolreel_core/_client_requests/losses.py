"""What another form can't say of a request: losses, which are refused, and hints, which may be left out.

A loss changes what the client would get, so it is an error that says what to do. A hint changes only how the
server goes about it, such as what it caches: it is left out, and named among the repairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from toolreel_core._conversation import without_empty_fields
from toolreel_core._jsontext import Json, Tree, as_tree, list_at, parse, tree_at
from toolreel_core._replies import ReadAsChat, choices_of
from toolreel_core._settings import WireForm

WHAT_TO_DO = {
    "audio": "sound can't be sent there; leave it out",
    "background": "there is nothing to come back for; leave it out",
    "citations": "no server of that form cites; leave it out",
    "custom_tool": "a tool without a schema is not known there; offer a function",
    "encrypted_reasoning": "only the server that wrote it can read it; leave the reasoning out",
    "logprobs": "the reply can't have them; leave it out",
    "sampling": "it would change what is sampled, and is not known there; leave it out",
    "server_tool": "the server runs it itself, and that one can't; offer a function",
    "several_choices": "there is one reply to a request; ask once for each",
    "stop": "the reply would not end there; leave it out",
    "stored_file": "it names a file that another server has stored; send the file itself",
    "stored_prompt": "it names a prompt that another server has stored; send its text",
    "stored_response": "it continues with what another server has stored; send the whole conversation",
    "unknown": "it is not known there; leave it out",
    "wrong_shape": "it is not the text, list or object that its own form has there; write it so",
}
"""What is wrong with each loss, and what to write instead."""

NAMES: Mapping[WireForm, str] = {
    "chat_completions": "chat completions",
    "responses": "Responses",
    "messages": "Messages",
}


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that the upstream's form has no word for, and that the client would miss."""

    code: str
    """One of :data:`WHAT_TO_DO`."""
    param: str

    def message(self, upstream: WireForm, client: WireForm) -> str:
        what = f"{self.param}: the upstream speaks {NAMES[upstream]}: {WHAT_TO_DO[self.code]}"
        return f"{what}, or use an upstream that speaks {NAMES[client]}."


_NONE_LOST: Mapping[str, str] = {}


class RequestFindings:
    """What one request has of both; it grows while the request is read, and ends with it."""

    __slots__ = ("hints", "losses")

    def __init__(self) -> None:
        self.losses: list[Loss] = []
        self.hints: dict[str, None] = {}

    def add_loss(self, code: str, param: str) -> None:
        self.losses.append(Loss(code, param))

    def add_hint(self, name: str) -> None:
        self.hints[name] = None

    def add_unknown_keys(
        self,
        tree: Tree,
        place: str,
        said: frozenset[str],
        hints: frozenset[str] = frozenset(),
        lost: Mapping[str, str] = _NONE_LOST,
    ) -> None:
        """Note keys of a tree that are not said and not empty: as hints, or else as losses."""
        for key, value in tree.items():
            if key in hints and not is_empty(value):
                self.add_hint(key)
            elif key in lost and value:
                self.add_loss(lost[key], f"{place}{key}")
            elif not (key in said or key in hints or key in lost or is_empty(value)):
                self.add_loss("unknown", f"{place}{key}")


class TranslatedItem(NamedTuple):
    """What a client wrote at one place, and the messages of chat completions that it is."""

    own: tuple[Json, ...]
    """Elements of the list in its form."""
    chat: tuple[Tree, ...]


AsChat: TypeAlias = "tuple[Tree, tuple[TranslatedItem, ...], RequestFindings]"
"""A request of another form: the options that chat completions have, its messages, and what that lacks."""
ReadPart: TypeAlias = "Callable[[Tree, str, RequestFindings], Tree]"
"""Reads a part of a content as one of chat completions; any other part stays as it is, and is noted."""


def is_empty(value: Json) -> bool:
    """Whether a value says what leaving it out says; SDKs write those that are not there as null or empty."""
    return value is None or value is False or value in ("", [], {})


def chat_content(given: Json, place: str, found: RequestFindings, read: ReadPart) -> Json:
    """A content: a text if there is nothing else, since not every server takes a list."""
    if not isinstance(given, Sequence) or isinstance(given, str):
        return given
    parts = [read(as_tree(part), f"{place}[{number}]", found) for number, part in enumerate(given)]
    return text_or_parts(parts)


def text_or_parts(parts: Sequence[Tree]) -> Json:
    """The text of parts of chat completions that are all text; else the parts."""
    texts = [str(part.get("text")) for part in parts if part.get("type") == "text"]
    return "\n\n".join(texts) if len(texts) == len(parts) else parts


def assistant_entry(turn: ReadAsChat) -> Tree:
    """A message of the model, with what has to go back with it in its own form."""
    said = tree_at(choices_of(as_tree(turn.body))[0], "message")
    return {
        "role": "assistant",
        "content": f"{said['content']}{said.get('refusal', '')}",
        **without_empty_fields(reasoning_content=said.get("thinking"), tool_calls=said.get("tool_calls")),
        **as_tree(parse(turn.carry)),
    }


def chat_tools(tree: Tree, kinds: tuple[str | None, ...], schema_key: str, found: RequestFindings) -> Tree:
    """The tools of a request, as an option; those that are not of these types stay as they are."""
    names = {"name": "name", "description": "description", schema_key: "parameters", "strict": "strict"}
    tools: list[Json] = []
    for number, entry in enumerate(map(as_tree, list_at(tree, "tools"))):
        if entry.get("type") not in kinds:
            code = "custom_tool" if entry.get("type") == "custom" else "server_tool"
            found.add_loss(code, f"tools[{number}]")
            tools.append(entry)
            continue
        given = {names[key]: value for key, value in entry.items() if key in names and value is not None}
        tools.append({"type": "function", "function": given})
        for key in entry:
            if key not in names and key != "type":
                found.add_hint(key)
    return without_empty_fields(tools=tools)


_DEFAULTS: Mapping[str, tuple[Json, ...]] = {
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "logit_bias": ({},),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "n": (1,),
    "modalities": (["text"],),
    "stop": ([],),
    "functions": ([],),
    "store": (False,),
    "verbosity": ("medium",),
    "service_tier": ("auto", "default"),
}
"""Values of options that mean the same as none."""
_LOST = {
    "audio": "audio",
    "frequency_penalty": "sampling",
    "function_call": "unknown",
    "functions": "unknown",
    "logit_bias": "sampling",
    "logprobs": "logprobs",
    "modalities": "audio",
    "n": "several_choices",
    "presence_penalty": "sampling",
    "stop": "stop",
    "top_k": "sampling",
    "top_logprobs": "logprobs",
    "web_search_options": "server_tool",
}
_HINTS = frozenset({
    "metadata", "moderation", "prediction", "prompt_cache_key", "prompt_cache_retention",
    "safety_identifier", "seed", "service_tier", "store", "verbosity",
})  # fmt: skip
_COMMON = frozenset({
    "max_completion_tokens", "max_tokens", "messages", "model", "parallel_tool_calls", "reasoning_effort",
    "response_format", "stream", "stream_options", "temperature", "tool_choice", "tools", "top_p", "user",
})  # fmt: skip
"""Options of chat completions that each form says."""
_SAID_IN: Mapping[WireForm, frozenset[str]] = {
    # OpenAI knows the hints there, too, but most other servers of this form don't.
    "chat_completions": frozenset({*_LOST, "seed", "prediction", "top_k", "verbosity"}),
    "messages": frozenset({"stop", "top_k"}),
    "responses": _HINTS - {"moderation", "prediction", "seed"},
}
"""Which of the others each form says as well."""


def options_in_form(options: Tree, form: WireForm) -> tuple[Tree, RequestFindings]:
    """The options of chat completions that a form says, and what it does not say.

    >>> [*options_in_form({"n": 1, "seed": 4, "top_p": 0.5}, "messages")[1].hints]
    ['seed']
    """
    kept, findings = dict[str, Json](), RequestFindings()
    for key, value in options.items():
        if value is None:  # SDKs write options that are not there as null
            continue
        if key in _COMMON or key in _SAID_IN[form]:
            kept[key] = value
        elif value in _DEFAULTS.get(key, ()):
            continue
        elif key in _HINTS:
            findings.add_hint(key)
        else:
            findings.add_loss(_LOST.get(key, "unknown"), key)
    return kept, findings


# Which fields of a request are texts, lists or objects, form by form.
#
# A server tells a client of its own form what is wrong there. What is read to be written in another form
# would leave such a field out, and the client would not know; so it is a loss.

_OBJECT = (dict,)
_TEXT = (str,)
_LIST = (list,)
_TEXT_OR_LIST = (str, list)
_TEXT_OR_OBJECT = (str, dict)
SHAPES: Mapping[WireForm, Mapping[tuple[type, ...], Sequence[str]]] = {
    "chat_completions": {
        _TEXT_OR_LIST: ("messages.[].content", "stop"),
        _TEXT_OR_OBJECT: ("tool_choice",),
        _LIST: ("messages.[].tool_calls", "tools"),
        _OBJECT: (
            "messages.[].content.[]", "messages.[].tool_calls.[]", "metadata", "response_format",
            "response_format.json_schema", "stream_options", "tools.[]", "tools.[].function",
        ),
    },
    "responses": {
        _TEXT: ("include.[]", "instructions", "text.format.type"),
        _TEXT_OR_LIST: ("input.[].content", "input.[].output"),
        _TEXT_OR_OBJECT: ("tool_choice",),
        _LIST: ("include", "input.[].summary", "tools"),
        _OBJECT: (
            "input.[].content.[]", "input.[].output.[]", "input.[].summary.[]", "metadata", "reasoning",
            "text", "text.format", "tools.[]",
        ),
    },
    "messages": {
        _TEXT_OR_LIST: ("messages.[].content", "messages.[].content.[].content", "system"),
        _LIST: ("stop_sequences", "tools"),
        _OBJECT: (
            "messages.[].content.[]", "messages.[].content.[].content.[]", "messages.[].content.[].source",
            "metadata", "output_config", "output_config.format", "output_format", "system.[]", "thinking",
            "tool_choice", "tools.[]",
        ),
    },
}  # fmt: skip
"""What stands at which paths of a parsed body, where anything does; ``[]`` is each element of a list."""


def wrong_shapes(tree: Tree, form: WireForm) -> Iterator[Loss]:
    """The fields of a request that have another shape than its form defines."""
    for kinds, paths in SHAPES[form].items():
        for path in paths:
            for place, value in _values_at(tree, path.split("."), ""):
                if not isinstance(value, kinds):
                    yield Loss("wrong_shape", place)


def _values_at(value: Json, path: Sequence[str], place: str) -> Iterator[tuple[str, Json]]:
    if not path:
        yield place, value
    elif path[0] == "[]":
        for number, element in enumerate(value if isinstance(value, list) else ()):
            yield from _values_at(element, path[1:], f"{place}[{number}]")
    elif isinstance(value, dict) and value.get(path[0]) is not None:
        yield from _values_at(value[path[0]], path[1:], f"{place}.{path[0]}".removeprefix("."))
