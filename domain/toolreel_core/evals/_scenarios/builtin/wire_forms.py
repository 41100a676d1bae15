"""Packs about the form of requests and replies: signed reasoning that must come back, and streams."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from toolreel_core._jsontext import (
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    chain,
    items_of,
    parse,
    read_tolerant,
    tree_at,
)
from toolreel_core._replies import of_call, of_message, unstreamed
from toolreel_core.evals._scenarios.builtin.cases import DONE, drawn, posed, reads, takes, text
from toolreel_core.evals._scenarios.checks import exercise, ordered, outcome
from toolreel_core.evals._scenarios.draws import WORDS, Draws, full_name
from toolreel_core.evals._scenarios.evidence import Evidence, Sent
from toolreel_core.evals._scenarios.scenario import Case
from toolreel_core.evals._scenarios.scripted_model import (
    ScenarioScripts,
    ScriptedCall,
    WholeReply,
    call,
    script,
)
from toolreel_core.evals._scenarios.truth import Fact, judged, read_before_used
from toolreel_core.evals._worlds.desk import Answer

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


_REPAIRS: Final = (
    reads("find_tenant", "Find a tenant; tells the flat_id.", name=text("The tenant.")),
    reads("find_heater", "The heater of a flat; tells the heater_id.", flat_id=text("The flat.")),
    takes("send_mechanic", "Send a mechanic to a heater.", heater_id=text("The heater.")),
)


def _signed(draws: Draws) -> Case:
    name, flat = full_name(draws, "tenant"), draws.code("flat", "f-", 4)
    heater, other = draws.codes("heaters", "h-", 5, 2)
    looks = (call("find_tenant", name=name), call("find_heater", flat_id=flat))
    send, wrong = call("send_mechanic", heater_id=heater), call("send_mechanic", heater_id=other)
    thoughts = (f"First I need the flat of {name}.", f"Now the heater of {flat}.", f"It is {heater}.")
    steps = [_thinking(draws, place, thoughts[place], calls) for place, calls in enumerate((*looks, send))]
    return posed(
        f"The heater of {name} is broken. Send a mechanic to it.",
        _REPAIRS,
        judged(
            ordered(("send_mechanic", {"heater_id": heater})),
            outcome("evidence", read_before_used("send_mechanic", values=[heater, other])),
            outcome("came_back", came_back),
            exercise("signed", signed),
            facts=(Fact(heater, (other,)),),
        ),
        ScenarioScripts(
            script(*steps, DONE), script(*steps[:2], wrong, DONE), skipping=script(*looks, send, DONE)
        ),
        answers=(
            Answer.of("find_tenant", {"name": name}, {"name": name, "flat_id": flat}),
            Answer.of("find_heater", {"flat_id": flat}, {"flat_id": flat, "heater_id": heater}),
        ),
    )


def _thinking(draws: Draws, place: int, thought: str, calls: tuple[ScriptedCall, ...]) -> WholeReply:
    """A reply as reasoning models send it: in the message, encrypted details; in the call, a signature."""
    details: Json = [
        {"type": "reasoning.text", "text": thought, "index": 0},
        {"type": "reasoning.encrypted", "data": _secret(draws, f"details {place}"), "index": 1},
    ]
    fields = canonical({"reasoning": thought, "reasoning_details": details})
    signature: Json = {"google": {"thought_signature": _secret(draws, f"signature {place}")}}
    return WholeReply(calls, fields=fields, of_calls=canonical({"extra_content": signature}))


def _secret(draws: Draws, what: str) -> JsonText:
    """What looks like base64, with characters that some escape."""
    return JsonText(f"{chain('signature', what, draws.seed)}+/{draws.number(what, 10, 99)}==")


SIGNED: Final = (
    drawn(
        "signed_reasoning",
        "reasoning",
        "Signatures and reasoning that the model sends have to come back in the next request.",
        _signed,
    ),
)
"""The client must not lose what it does not understand."""

_MESSAGES: Final = (
    takes(
        "send_message",
        "Send a message.",
        to=text("Who gets it."),
        body=text("What it says, exactly as the user gives it."),
    ),
)


def _streamed(draws: Draws) -> Case:
    first, second = (full_name(draws, f"receiver {place}") for place in (1, 2))
    bodies = [_awkward(draws, place) for place in (1, 2)]
    order = [{"to": to, "body": body} for to, body in zip((first, second), bodies, strict=True)]
    one, two = (call("send_message", **each) for each in order)
    swapped = call("send_message", to=first, body=bodies[1]) + call("send_message", to=second, body=bodies[0])
    beside = f"I am sending both messages now, to {first} and to {second}."
    return posed(
        f"Send two messages: first one to {first} that says `{bodies[0]}`, and then one to {second} that says"
        f" `{bodies[1]}`. Leave the backquotes out.",
        _MESSAGES,
        judged(
            ordered(*(("send_message", each) for each in order)),
            exercise("streamed", _came_as_a_stream),
        ),
        ScenarioScripts(
            script(WholeReply(one + two, beside), DONE), script(WholeReply(swapped, beside), DONE)
        ),
    )


def _awkward(draws: Draws, place: int) -> str:
    """A text whose fragments part escapes and characters of several bytes."""
    word, number = draws.one_of(f"word {place}", WORDS), draws.number(f"number {place}", 100, 999)
    return f'Gate {number}: say "{word}", wait – then C:\\{word}\\new {{{number}}} ✓'


def _came_as_a_stream(seen: Evidence) -> str:
    whole = [number for number, one in enumerate(seen.sent, 1) if one.reply.lstrip().startswith("{")]
    return f"reply {whole[0]} did not come as a stream" if whole else ""


STREAMED: Final = (
    drawn(
        "streamed_calls",
        "streaming",
        "Two calls that arrive in fragments, with text around them.",
        _streamed,
        config={"stream": "always", "max_tool_calls_per_turn": "off"},
    ),
)
"""Replies are streamed."""
