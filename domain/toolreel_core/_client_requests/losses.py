"""What another form can't say of a request: losses, which are refused, and hints, which may be left out.

A loss changes what the client would get, so it is an error that says what to do. A hint changes only how the
server goes about it, such as what it caches: it is left out, and named among the repairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from toolreel_core._jsontext import Json, Tree, as_tree
from toolreel_core._settings import WireForm


def contents(parts: Json) -> Json:
    r"""A text if there is nothing else, since not every server takes a list.

    >>> contents([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])
    'a\n\nb'
    """
    if not isinstance(parts, Sequence) or isinstance(parts, str):
        return parts
    texts = [part.get("text") for part in map(as_tree, parts) if part.get("type") == "text"]
    if len(texts) < len(parts):
        return parts
    return "\n\n".join(map(str, texts))


def said_by(text: str, thought: str, calls: Sequence[Json]) -> Tree:
    """A message of the model."""
    reasoning: Tree = {"reasoning_content": thought} if thought else {}
    called: Tree = {"tool_calls": calls} if calls else {}
    return {"role": "assistant", "content": text, **reasoning, **called}


LossCode: TypeAlias = Literal[
    "audio",
    "background",
    "citations",
    "custom_tool",
    "encrypted_reasoning",
    "logprobs",
    "sampling",
    "server_tool",
    "several_choices",
    "stop",
    "stored_file",
    "stored_prompt",
    "stored_response",
    "unknown",
    "wrong_shape",
]

WHAT_TO_DO: Final[Mapping[LossCode, str]] = {
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

NAMES: Final[Mapping[WireForm, str]] = {
    "chat_completions": "chat completions",
    "responses": "Responses",
    "messages": "Messages",
}


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that the upstream's form has no word for, and that the client would miss."""

    code: LossCode
    param: str
    """Where it stands."""

    def message(self, upstream: WireForm, client: WireForm) -> str:
        """The loss in one sentence.

        >>> Loss("logprobs", "top_logprobs").message("messages", "responses")[:66]
        "top_logprobs: the upstream speaks Messages: the reply can't have t"
        """
        what = f"{self.param}: the upstream speaks {NAMES[upstream]}: {WHAT_TO_DO[self.code]}"
        return f"{what}, or use an upstream that speaks {NAMES[client]}."


class Findings:
    """What one request has of both; it grows while the request is read, and ends with it."""

    __slots__ = ("hints", "losses")

    def __init__(self) -> None:
        self.losses: list[Loss] = []
        self.hints: dict[str, None] = {}

    def loss(self, code: LossCode, param: str) -> None:
        """Note a loss."""
        self.losses.append(Loss(code, param))

    def hint(self, name: str) -> None:
        """Note a hint, once."""
        self.hints[name] = None

    def others(self, tree: Tree, known: frozenset[str], place: str) -> None:
        """Note keys that are neither known nor empty as losses."""
        for key, value in tree.items():
            if key not in known and not is_empty(value):
                self.loss("unknown", f"{place}{key}")

    def hints_in(self, tree: Tree, names: frozenset[str]) -> None:
        """Note those of some keys that a tree has."""
        for key, value in tree.items():
            if key in names and not is_empty(value):
                self.hint(key)


@dataclass(frozen=True, slots=True)
class Said:
    """What a client wrote at one place, and the messages of chat completions that it is."""

    own: tuple[Json, ...]
    """Elements of the list in its form."""
    chat: tuple[Tree, ...]


AsChat: TypeAlias = "tuple[Tree, tuple[Said, ...], Findings]"
"""A request of another form: the options that chat completions have, its messages, and what that lacks."""


def is_empty(value: Json) -> bool:
    """Whether a value says what leaving it out says; SDKs write those that are not there as null or empty."""
    return value is None or value is False or value in ("", [], {})


_DEFAULTS: Final[Mapping[str, tuple[Json, ...]]] = {
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
_LOST: Final[Mapping[str, LossCode]] = {
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
_HINTS: Final = frozenset({
    "metadata", "moderation", "prediction", "prompt_cache_key", "prompt_cache_retention",
    "safety_identifier", "seed", "service_tier", "store", "verbosity",
})  # fmt: skip
_COMMON: Final = frozenset({
    "max_completion_tokens", "max_tokens", "messages", "model", "parallel_tool_calls", "reasoning_effort",
    "response_format", "stream", "stream_options", "temperature", "tool_choice", "tools", "top_p", "user",
})  # fmt: skip
"""Options of chat completions that each form says."""
_SAID_IN: Final[Mapping[WireForm, frozenset[str]]] = {
    # OpenAI knows the hints there, too, but most other servers of this form don't.
    "chat_completions": frozenset({*_LOST, "seed", "prediction", "top_k", "verbosity"}),
    "messages": frozenset({"stop", "top_k"}),
    "responses": frozenset(
        {
            "metadata",
            "prompt_cache_key",
            "prompt_cache_retention",
            "safety_identifier",
            "service_tier",
            "store",
            "verbosity",
        }
    ),
}
"""Which of the others each form says as well."""


def unsaid(options: Tree, form: WireForm) -> tuple[Tree, Findings]:
    """The options of chat completions that a form says, and what it does not say.

    >>> [*unsaid({"n": 1, "seed": 4, "top_p": 0.5}, "messages")[1].hints]
    ['seed']
    """
    kept, findings = dict[str, Json](), Findings()
    for key, value in options.items():
        if value is None:  # SDKs write options that are not there as null
            continue
        if key in _COMMON or key in _SAID_IN[form]:
            kept[key] = value
        elif value in _DEFAULTS.get(key, ()):
            continue
        elif key in _HINTS:
            findings.hint(key)
        else:
            findings.loss(_LOST.get(key, "unknown"), key)
    return kept, findings
