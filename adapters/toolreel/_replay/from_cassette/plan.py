"""The plan that somebody else's request amounts to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from toolreel._errors import JournalError
from toolreel._replay.from_cassette.messages import message_of
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext.canonical import Json, Tree, canonical, read
from toolreel_core._plan.plan import Plan
from toolreel_core._plan.presets.preset import Preset
from toolreel_core._tools.surface import ToolDefinition

_OWNED: Final = ("model", "messages", "tools", "stream", "stream_options")
_NO_PRESET: Final = Preset()


def plan_in(body: bytes, place: str, *, preset: Preset = _NO_PRESET, settings: Mapping[str, Any]) -> Plan:
    """The plan of a run that begins with this request: its model, messages, tools, and all its options.

    :param settings: of the loop and of the provider, which no request tells
    :raises JournalError: if no run begins so; names the place
    """
    tree = chat_tree(body, place)
    messages = [
        message_of(entry, f"{place}: messages[{n}]") for n, entry in enumerate(_list(tree["messages"]))
    ]
    options = {key: value for key, value in tree.items() if key not in _OWNED}
    try:
        return preset.plan(
            model=str(tree.get("model") or "unknown"),
            messages=messages,
            tools=tuple(_definitions(tree.get("tools"), place)),
            options=options,
            settings=settings,
        )
    except JournalError:
        raise
    except ToolreelError as error:
        raise JournalError(f"{place}: {error}") from error


def chat_tree(body: bytes, place: str) -> Tree:
    """The body of a chat-completions request.

    :raises JournalError: if it is none
    """
    tree = read(body.decode(errors="replace")).value_or(None)
    if isinstance(tree, Mapping) and _list(tree.get("messages")):
        return tree
    raise JournalError(f"{place}: not the body of a chat-completions request")


def _definitions(tools: Json, place: str) -> Iterator[ToolDefinition]:
    for entry in _list(tools):
        match entry:
            case {"function": {"name": str() as name, **further}}:
                words = further.get("description")
                parameters = further.get("parameters")
                yield ToolDefinition.of(
                    name,
                    words if isinstance(words, str) else "",
                    parameters if isinstance(parameters, Mapping) else None,
                )
            case _:
                raise JournalError(f"{place}: not a function that a model may call: {canonical(entry)[:100]}")


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()
