"""Checks of the form of requests and replies: reasoning that must come back, and streams."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from toolreel_core._jsontext import Tree, as_tree, items_of, parse, read_tolerant, tree_at
from toolreel_core._replies import of_call, of_message, unstreamed
from toolreel_core.evals._scenarios.evidence import Evidence, Sent

_SIGNATURES: Final = frozenset({"data", "encrypted_content", "signature", "thought_signature"})


def signed(seen: Evidence) -> str:
    """The model sent something that had to come back, before its last reply."""
    if not seen.reasoning_replayed:
        return "the configuration sends no reasoning back, since the provider refuses it"
    there = any(_required(_message(one.reply)) for one in seen.sent[:-1])
    return "" if there else "the model sent neither a signature nor reasoning"


def came_back(seen: Evidence) -> str:
    """All of it is in the request that follows, letter by letter and in its order."""
    if not seen.reasoning_replayed:
        return ""
    for number, (one, following) in enumerate(pairwise(seen.sent), 1):
        answers = _answers(following)
        # A reply that was no good is asked for again, without it.
        if len(answers) == len(_answers(one)):
            continue
        returned = iter([text for message in answers for text in _texts(_fields(message))])
        # Each `in` goes on where the one before has stopped.
        missing = [text for text in _required(_message(one.reply)) if text not in returned]
        if missing:
            return f"the request after reply {number} does not have {missing[0]!r}, which the model had sent"
    return ""


def _answers(one: Sent) -> list[Tree]:
    """The model's messages in a request."""
    messages: list[Tree] = json.loads(one.request.body)["messages"]
    return [message for message in messages if message.get("role") == "assistant"]


def _required(message: Mapping[str, Any]) -> list[str]:
    fields = _fields(message)
    return [*_texts(fields, of=_SIGNATURES)] or [*_texts(fields)]


def _fields(message: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a JSON value
    """The fields of a provider's own in a message and its calls."""
    calls = message.get("tool_calls")
    entries = [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, Sequence) else []
    inner = [(call, call.get("function")) for call in entries]
    of_calls = [parse(of_call(call, each if isinstance(each, Mapping) else {})) for call, each in inner]
    return [parse(of_message(message)), *of_calls]


def _texts(value: Any, *, of: frozenset[str] = frozenset()) -> Iterator[str]:  # noqa: ANN401 - a JSON value
    """The texts in a value; with ``of``, those under keys of these names."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(item, str):
                yield from [item] if item and (not of or key in of) else []
            else:
                yield from _texts(item, of=of)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _texts(item, of=of)


def _message(reply: str) -> Tree:
    whole, _ = unstreamed(reply)
    body = read_tolerant(whole).value_or({}) if isinstance(whole, str) else whole
    choices = items_of(as_tree(body), "choices")
    return tree_at(as_tree(choices[0]), "message") if choices else {}


def streamed(seen: Evidence) -> str:
    """Every reply came as a stream."""
    whole = [number for number, one in enumerate(seen.sent, 1) if one.reply.lstrip().startswith("{")]
    return f"reply {whole[0]} did not come as a stream" if whole else ""


WIRE_CHECKS: Final[Mapping[str, Callable[[Evidence], str]]] = {
    "signed": signed,
    "came_back": came_back,
    "streamed": streamed,
}
"""What a ``[[check]]`` can demand as ``wire``."""
