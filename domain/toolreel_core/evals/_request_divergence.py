"""Provider-neutral content of a request, and where two requests diverge.

Strategies encode the same conversation differently: other call ids, reasoning sent back or not, other text
next to a call, a schema in the subset that a server takes. None of this is compared. Compared are the tools
and what they say (names, descriptions, properties), the messages in their order (role, text, calls, and the
call that a result belongs to), and the options that decide which replies are likely, or possible: the
sampling, a constraint of the decoding, a forced call, a route.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final, Literal, TypeAlias

from toolreel_core._jsontext import Json, JsonText, Tree, canonical, read

DivergenceKind: TypeAlias = Literal["opening", "calls", "result", "nudge", "tools", "options", "again"]
"""``opening``: the conversation begins differently; ``calls``: other calls were parsed from a reply;
``result``: a call returned something else; ``nudge``: the model gets a further or another message;
``tools``: other tools are offered; ``options``: the same is asked with other options; ``again``: an answered
request is sent again."""

_ENCODING: Final = frozenset(
    {
        *("messages", "tools", "model"),
        *("stream", "stream_options", "usage"),
        *("user", "safety_identifier", "metadata", "store", "prompt_cache_key"),
        # Another sample of the same replies.
        "seed",
        # The loop itself keeps to it, whatever the model does.
        "parallel_tool_calls",
    }
)
"""Keys of a body that say nothing of which replies are likely, or that are compared in another way."""
_FREE: Final = ("auto", "none")
"""Choices of a tool that force no call; without tools, the tools are what differs."""
_MAX_EXCERPT = 80


@dataclass(frozen=True, slots=True)
class ContentMessage:
    """One message."""

    role: str
    """``system``, ``user``, ``assistant`` or ``tool``."""
    text: str = ""
    """Of an assistant that calls nothing, and of everybody else."""
    calls: tuple[tuple[str, str], ...] = ()
    """Name and arguments of each call; arguments that are JSON in its canonical form."""
    answers: int = 0
    """Which of the calls before it a result belongs to, from 1 on; 0: none of them, or it is no result."""


@dataclass(frozen=True, slots=True)
class RequestContent:
    """The content of a request."""

    tools: tuple[str, ...]
    """Their names, in alphabetical order."""
    messages: tuple[ContentMessage, ...]
    options: tuple[tuple[str, JsonText], ...] = ()
    """What else decides about the reply, by key in alphabetical order."""
    words: tuple[tuple[str, ...], ...] = ()
    """Descriptions and properties of each tool, in the order of the names."""

    @property
    def conversation(self) -> RequestContent:
        """The names of the tools and the messages: all that the loop itself acts on."""
        return replace(self, options=(), words=())


@dataclass(frozen=True, slots=True)
class Divergence:
    """The point at which a recording no longer answers a run."""

    kind: DivergenceKind
    what: str
    """In words for a person."""


def request_content(body: Tree) -> RequestContent:
    """The content of a request's body.

    >>> found = request_content({"messages": [{"role": "user", "content": "hello"}], "temperature": 1})
    >>> found.messages, found.options
    ((ContentMessage(role='user', text='hello', calls=(), answers=0),), (('temperature', '1'),))
    """
    messages, latest = list[ContentMessage](), tuple[str, ...]()
    for message in _trees(body.get("messages")):
        one = _content_message(message)
        if one.role == "assistant":
            latest = tuple(_text(call.get("id")) for call in _trees(message.get("tool_calls")))
        if one.role == "tool":
            called = _text(message.get("tool_call_id"))
            one = replace(one, answers=latest.index(called) + 1 if called in latest else 0)
        if one != ContentMessage("assistant"):
            messages.append(one)
    listed = () if body.get("tool_choice") == "none" else _trees(body.get("tools"))
    tools = sorted((_text(_function(tool).get("name")), tuple(sorted(_words(tool)))) for tool in listed)
    return RequestContent(
        tuple(name for name, _ in tools),
        tuple(messages),
        tuple(sorted((key, canonical(value)) for key, value in body.items() if _decides(key, value))),
        tuple(words for _, words in tools),
    )


def first_divergence(recorded: RequestContent | None, asked: RequestContent) -> Divergence:
    """How a request differs from the recorded one.

    :param recorded: of the request that comes next in the recording, or of its last one; ``None`` if it
        is empty
    """
    before = recorded.messages if recorded else ()
    for place, (old, new) in enumerate(zip_longest(before, asked.messages)):
        if old != new and new is not None:
            return _of_message(
                old,
                new,
                asked.messages[place + 1 :],
                opening=all(one.role in {"system", "user"} for one in asked.messages[:place]),
            )
    if recorded and len(before) == len(asked.messages) and recorded.tools != asked.tools:
        return Divergence("tools", f"is told of {_names(asked.tools)}, and was of {_names(recorded.tools)}")
    if recorded and before == asked.messages and recorded.words != asked.words:
        pairs = zip(asked.tools, recorded.words, asked.words, strict=True)
        return Divergence(
            "tools", f"is told other words about {_names([it for it, a, b in pairs if a != b])}"
        )
    if recorded and before == asked.messages and recorded.options != asked.options:
        return Divergence("options", f"asks {_changes(dict(recorded.options), dict(asked.options))}")
    return Divergence("again", "asks again for what has been answered")


def _words(schema: Json) -> Iterator[str]:
    """What a tool says to the model, wherever it is in its schema."""
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key == "description" and isinstance(value, str):
                yield value
            elif key == "properties" and isinstance(value, Mapping):
                yield from value
                yield from (text for each in value.values() for text in _words(each))
            else:
                yield from _words(value)
    elif isinstance(schema, list | tuple):
        yield from (text for each in schema for text in _words(each))


def _decides(key: str, value: Json) -> bool:
    return key not in _ENCODING and value is not None and not (key == "tool_choice" and value in _FREE)


def _changes(old: Mapping[str, JsonText], new: Mapping[str, JsonText]) -> str:
    """Which options differ, and how."""
    return " and ".join(
        f"with {key} {_cut(new[key])}, where there was {_cut(old[key]) if key in old else 'none'}"
        if key in new
        else f"without {key}, where there was {_cut(old[key])}"
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key)
    )


def _of_message(
    old: ContentMessage | None, new: ContentMessage, rest: Sequence[ContentMessage], *, opening: bool
) -> Divergence:
    if new.role == "tool":
        return Divergence("result", f"a call comes to {_short(new.text)}, and came to {_was(old)}")
    if new.role == "assistant" and new.calls:
        return Divergence("calls", f"hears {_calls(new)}, where there was {_was(old)}")
    if opening and old is not None and new.role != "assistant":
        return Divergence("opening", f"begins with {_short(new.text)}, and began with {_was(old)}")
    nudge = next((one for one in rest if one.role != "assistant"), new) if new.role == "assistant" else new
    return Divergence("nudge", f"tells the model {_short(nudge.text)}, where there was {_was(old)}")


def _was(old: ContentMessage | None) -> str:
    if old is None:
        return "nothing more"
    return _calls(old) if old.calls else _short(old.text)


def _calls(messages: ContentMessage) -> str:
    return " and ".join(f"{name}({_cut(arguments)})" for name, arguments in messages.calls)


def _names(tools: Sequence[str]) -> str:
    return ", ".join(tools) or "no tools"


def _short(text: str) -> str:
    return f'"{_cut(" ".join(text.split()))}"'


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_EXCERPT else f"{text[:_MAX_EXCERPT]}…"


def _content_message(message: Tree) -> ContentMessage:
    role = {"developer": "system"}.get(role := _text(message.get("role")), role)
    calls = tuple(_call(_function(call)) for call in _trees(message.get("tool_calls")))
    return ContentMessage(role, "" if calls else _text(message.get("content")).strip(), calls)


def _call(function: Tree) -> tuple[str, str]:
    arguments = _text(function.get("arguments"))
    return _text(function.get("name")), read(arguments).map(canonical).value_or(arguments)


def _function(tree: Tree) -> Tree:
    function = tree.get("function")
    return function if isinstance(function, Mapping) else {}


def _text(value: Json) -> str:
    """A text, or what there is of text in a list of parts."""
    if isinstance(value, str):
        return value
    return "".join(_text(part.get("text")) for part in _trees(value))


def _trees(value: Json) -> list[Tree]:
    items = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
    return [item for item in items if isinstance(item, Mapping)]
