"""Messages in requests of other clients: converted to messages of a plan, or to one plain form.

Clients write the same conversation in many ways: different key orders, ``null`` or an empty text next to
calls, texts as lists of parts, tool results with or without an envelope. The plain form is the same for all
of them, so conversations are compared in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, cast

from toolreel._internal import JournalError
from toolreel_core._client_requests import ClientRequest, Refusal, client_request
from toolreel_core._conversation import (
    AssistantMessage,
    Message,
    SentCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
    message_in,
    part_in,
    shown_parts,
)
from toolreel_core._errors import ConfigError, ToolreelError
from toolreel_core._jsontext import Json, Tree, canonical, items_of, read
from toolreel_core._plan import Plan, Preset
from toolreel_core._settings import WireForm
from toolreel_core._tools import ToolDefinition

Comparison: TypeAlias = Literal["exact", "conversation", "replies"]
"""How two requests are compared: ``exact`` as canonical JSON, as in a replay; ``conversation`` by model,
roles, texts, calls and results, whatever their notation; ``replies`` not at all: the next reply answers."""

COMPARISONS: Final[tuple[Comparison, ...]] = ("exact", "conversation", "replies")


def message_of(entry: Json, place: str) -> Message:
    """Convert a message of a request to a message of a plan.

    :raises JournalError: if a run cannot have it, such as a picture
    """
    match entry:
        case {"role": "system" | "developer"}:
            return SystemMessage(_text(entry, place))
        case {"role": "user", "content": [*_]}:
            return _with_parts(entry, place)
        case {"role": "user"}:
            return UserMessage(_text(entry, place))
        case {"role": "assistant"}:
            calls = tuple(SentCall(id_, name, text) for id_, name, text in _calls(entry))
            return AssistantMessage(_text(entry, place), calls)
        case {"role": "tool", "tool_call_id": str(), "content": [*_]}:
            return _with_parts(entry, place)
        case {"role": "tool", "tool_call_id": str() as call_id}:
            return ToolMessage(call_id, _text(entry, place))
        case _:
            raise JournalError(f"{place}: not a message that a run can begin with: {canonical(entry)[:100]}")


def _with_parts(entry: Json, place: str) -> Message:
    try:
        return message_in(cast("Tree", entry), place)
    except ConfigError as error:
        raise JournalError(str(error)) from None


def plain_message(entry: Json, place: str) -> Tree:
    """A message in plain form: role, text, and calls or the result of one, without ids.

    >>> plain_message({"role": "assistant", "content": None, "refusal": None}, "it")
    {'role': 'assistant', 'content': ''}
    """
    text = _text(entry, place)
    match entry:
        case {"role": "tool" | "function"}:
            return {"role": "tool", "content": _value(output_in(text))}
        case {"role": "developer"}:
            return {"role": "system", "content": text}
        case {"role": str() as role}:
            calls: list[Json] = [{"name": name, "arguments": _value(args)} for _, name, args in _calls(entry)]
            return {"role": role, "content": text, **({"calls": calls} if calls else {})}
        case _:
            raise JournalError(f"{place}: a message without a role: {canonical(entry)[:100]}")


def output_in(content: str) -> str:
    """The output of a tool in the content of its message; our envelope is removed.

    >>> output_in('{"ok":true,"tool_name":"add","data":{"value":3},"warnings":[],"errors":[]}')
    '3'
    >>> output_in("It is sunny.")
    '"It is sunny."'
    """
    tree = _value(content)
    match tree:
        case {"ok": True, "tool_name": _, "data": {"value": value, **further}, "errors": []} if not further:
            return canonical(value)
        case {"ok": True, "tool_name": _, "data": data, "errors": []}:
            return canonical(data)
        case {"ok": False, "tool_name": _, "data": data, "errors": errors}:
            return canonical({"ok": False, "data": data, "errors": errors})
        case _:
            return canonical(tree)


def _value(text: str) -> Json:
    return read(text).value_or(text)


def _text(entry: Json, place: str) -> str:
    content = entry.get("content") if isinstance(entry, Mapping) else None
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, Sequence):
        raise JournalError(f"{place}: expected a text, found {canonical(content)[:100]}")
    texts: list[str] = []
    for part in content:
        match part:
            case {"text": str() as text}:
                texts.append(text)
            case _:
                try:
                    texts.append(shown_parts([part_in(part, place)]))
                except ConfigError:
                    shown = canonical(part)[:100]
                    raise JournalError(f"{place}: a part that no run can hold: {shown}") from None
    return "".join(texts)


def _calls(entry: Json) -> Iterator[tuple[str, str, str]]:
    """The id, name and arguments of each call."""
    calls = entry.get("tool_calls") if isinstance(entry, Mapping) else None
    for call in calls if isinstance(calls, Sequence) else ():
        match call:
            case {"id": str() as id_, "function": {"name": str() as name, "arguments": str() as text}}:
                yield id_, name, text
            case _:
                continue


_OWNED: Final = ("model", "messages", "tools", "stream", "stream_options")
_NO_PRESET: Final = Preset()


def plan_in(
    body: bytes,
    place: str,
    *,
    form: WireForm = "chat_completions",
    preset: Preset = _NO_PRESET,
    settings: Mapping[str, Any],
) -> Plan:
    """The plan of a run that begins with this request: its model, messages, tools and options.

    :param form: in which the request is
    :param settings: loop and provider settings, which a request does not contain
    :raises JournalError: if no run can begin with it; names the place
    """
    tree = chat_tree(body, place, form)
    spoken = {} if form == "chat_completions" else {"wire_form": form}
    messages = [
        message_of(entry, f"{place}: messages[{n}]") for n, entry in enumerate(items_of(tree, "messages"))
    ]
    options = {key: value for key, value in tree.items() if key not in _OWNED}
    try:
        return preset.plan(
            model=str(tree.get("model") or "unknown"),
            messages=messages,
            tools=tuple([_definition(entry, place) for entry in items_of(tree, "tools")]),
            options=options,
            settings={**spoken, **settings},
        )
    except JournalError:
        raise
    except ToolreelError as error:
        raise JournalError(f"{place}: {error}") from error


def chat_tree(body: bytes, place: str, form: WireForm = "chat_completions") -> Tree:
    """The body of a request, as chat completions have it.

    :raises JournalError: if it is not one
    """
    found = read(body.decode(errors="replace")).value_or(None)
    tree = found if isinstance(found, Mapping) else {}
    if form != "chat_completions":
        asked = client_request(body, form)
        tree = {} if isinstance(asked, Refusal) else asked.tree
        if isinstance(asked, ClientRequest) and any(loss.code == "stored_response" for loss in asked.losses):
            raise JournalError(
                f"{place}: goes on with a response that the server has stored, so the tape lacks the "
                "conversation; record with the whole input instead of previous_response_id"
            )
    if items_of(tree, "messages"):
        return tree
    raise JournalError(f"{place}: not the body of a {form.replace('_', '-')} request")


def _definition(entry: Json, place: str) -> ToolDefinition:
    match entry:
        case {"function": {"name": str() as name, **further}}:
            words, parameters = further.get("description"), further.get("parameters")
            about = words if isinstance(words, str) else ""
            return ToolDefinition.of(name, about, parameters if isinstance(parameters, Mapping) else None)
        case _:
            raise JournalError(f"{place}: not a function that a model may call: {canonical(entry)[:100]}")
