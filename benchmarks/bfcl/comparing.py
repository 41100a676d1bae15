"""What has to be equal after a turn of the user, and the first thing that is not, in words.

The transcript is judged as it goes out: the calls of a reply have their results right after them, in order,
under ids that no other call of the conversation has, and both tell what was executed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, TypeAlias

from benchmarks.bfcl.worlds import Deed
from toolreel_core._jsontext import Json

__all__ = ["Message", "deeds_apart", "states_apart", "transcript_apart"]

Message: TypeAlias = Mapping[str, Any]
"""A message as it goes out."""


@dataclass(frozen=True, slots=True)
class _Exchange:
    """A call and its result, as the model sees them."""

    call: Message
    result: Message

    def __str__(self) -> str:
        function = self.call["function"]
        return f"{function['name']}{json.dumps(json.loads(function['arguments']), sort_keys=True)}"


class _OutOfOrder(Exception):
    """Messages in which calls and results do not belong together."""


def deeds_apart(ours: Sequence[Deed], twins: Sequence[Deed]) -> str:
    """The first execution that is another one, or had another result."""
    for deed, twin in zip_longest(ours, twins):
        if str(deed) != str(twin):
            return f"executed {deed}, expected {twin}"
        if deed != twin:
            return f"{deed} gave {deed.result!r:.80}, expected {twin.result!r:.80}"
    return ""


def states_apart(ours: Json, twins: Json, place: str = "state") -> str:
    """The first place where two states differ."""
    if isinstance(ours, Mapping) and isinstance(twins, Mapping):
        keys = dict.fromkeys((*ours, *twins))
        apart = (states_apart(ours.get(key), twins.get(key), f"{place}.{key}") for key in keys)
        other_order = "" if [*ours] == [*twins] else f"{place} has {[*ours]}, expected {[*twins]}"
        return next(filter(None, apart), other_order)
    return "" if ours == twins else f"{place} is {ours!r:.60}, expected {twins!r:.60}"


def transcript_apart(messages: Sequence[Message], deeds: Sequence[Deed], last: str, used: set[str]) -> str:
    """The first thing in the messages of a turn that is not as it should be.

    :param messages: what follows the user's words
    :param last: what the model says in the end
    :param used: ids of calls so far in the conversation; those of these messages are added
    """
    *before, final = messages or [{}]
    if final != {"role": "assistant", "content": last}:
        return f"the turn ends with {final!r:.80}, expected the model's last words"
    try:
        exchanges = [*_exchanges(before)]
    except _OutOfOrder as error:
        return str(error)
    for exchange, deed in zip_longest(exchanges, deeds):
        if str(exchange) != str(deed):
            return f"the transcript has {exchange}, executed was {deed}"
        if exchange.result != _told(deed):
            return f"of {deed} the transcript tells {exchange.result!r:.80}"
    return _ids_apart([exchange.call["id"] for exchange in exchanges], used)


def _exchanges(messages: Sequence[Message]) -> Iterator[_Exchange]:
    """Each call with its result.

    :raises _OutOfOrder: where a call has no result, or a result no call
    """
    waiting: list[Message] = []
    for message in messages:
        if not waiting and message.get("tool_calls"):
            waiting = list(message["tool_calls"])
        elif waiting and message.get("tool_call_id") == waiting[0]["id"]:
            yield _Exchange(waiting.pop(0), json.loads(message["content"]))
        else:
            raise _OutOfOrder(f"calls that wait for results: {len(waiting)}; then comes {message!r:.80}")
    if waiting:
        raise _OutOfOrder(f"calls without a result: {len(waiting)}")


def _told(deed: Deed) -> Message:
    """The envelope in which the model reads of it."""
    envelope = {"ok": not deed.failed, "tool_name": deed.name, "data": {}, "warnings": [], "errors": []}
    if deed.failed:
        return {**envelope, "errors": [{"code": "ARGUMENT_ERROR", "message": deed.result}]}
    return {**envelope, "data": deed.result if isinstance(deed.result, Mapping) else {"value": deed.result}}


def _ids_apart(ids: Sequence[str], used: set[str]) -> str:
    for identity in ids:
        if identity in used:
            return f"the id {identity} comes twice in the conversation"
        used.add(identity)
    return ""
