"""Messages of somebody else's requests: as messages of a plan, and as what they say.

Clients write the same conversation in many ways: other orders of keys, ``null`` beside calls or an empty
text, texts as lists of parts, results of tools with or without an envelope. What a message says is the
same in all of them, and is what two conversations are compared by.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from toolreel._errors import JournalError
from toolreel_core._conversation.message import (
    AssistantMessage,
    Message,
    SentCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from toolreel_core._jsontext.canonical import Json, Tree, canonical, read

Comparison: TypeAlias = Literal["exact", "conversation", "replies"]
"""How two requests are compared: ``exact`` as canonical JSON, as in a replay; ``conversation`` by what is
said in them, model, roles, texts, calls and results, however it is written; ``replies`` not at all, so that
whatever was asked, the next reply answers it."""

COMPARISONS: Final[tuple[Comparison, ...]] = ("exact", "conversation", "replies")


def message_of(entry: Json, place: str) -> Message:
    """A message of a request as one of a plan.

    :raises JournalError: if a run cannot hold it, such as a picture
    """
    match entry:
        case {"role": "system" | "developer"}:
            return SystemMessage(_text(entry, place))
        case {"role": "user"}:
            return UserMessage(_text(entry, place))
        case {"role": "assistant"}:
            calls = tuple(SentCall(id_, name, text) for id_, name, text in _calls(entry))
            return AssistantMessage(_text(entry, place), calls)
        case {"role": "tool", "tool_call_id": str() as call_id}:
            return ToolMessage(call_id, _text(entry, place))
        case _:
            raise JournalError(f"{place}: not a message that a run can begin with: {canonical(entry)[:100]}")


def said_in(entry: Json, place: str) -> Tree:
    """What a message says, in one form: role, text, and calls or the result of one, without ids.

    >>> said_in({"role": "assistant", "content": None, "refusal": None}, "it")
    {'role': 'assistant', 'content': ''}
    """
    text = _text(entry, place)
    match entry:
        case {"role": "tool" | "function"}:
            return {"role": "tool", "content": _result(text)}
        case {"role": "developer"}:
            return {"role": "system", "content": text}
        case {"role": str() as role}:
            calls: list[Json] = [{"name": name, "arguments": _value(args)} for _, name, args in _calls(entry)]
            return {"role": role, "content": text, **({"calls": calls} if calls else {})}
        case _:
            raise JournalError(f"{place}: a message without a role: {canonical(entry)[:100]}")


def output_in(content: str) -> str:
    """The output of a tool, for what its message says: taken out of our envelope if it is in one.

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


def _result(content: str) -> Json:
    """What a tool said, with or without an envelope; warnings in ours are the loop's own."""
    return _value(output_in(content))


def _value(text: str) -> Json:
    return read(text).value_or(text)


def _text(entry: Json, place: str) -> str:
    content = entry.get("content") if isinstance(entry, Mapping) else None
    match content:
        case None:
            return ""
        case str():
            return content
        case Sequence():
            return "".join(_part(part, place) for part in content)
        case _:
            raise JournalError(f"{place}: expected a text, found {canonical(content)[:100]}")


def _part(part: Json, place: str) -> str:
    match part:
        case {"text": str() as text}:
            return text
        case _:
            raise JournalError(
                f"{place}: a part that is no text, which no run can hold: {canonical(part)[:100]}"
            )


def _calls(entry: Json) -> Iterator[tuple[str, str, str]]:
    match entry.get("tool_calls") if isinstance(entry, Mapping) else None:
        case Sequence() as calls:
            for call in calls:
                match call:
                    case {
                        "id": str() as id_,
                        "function": {"name": str() as name, "arguments": str() as text},
                    }:
                        yield id_, name, text
                    case _:
                        continue
        case _:
            return
