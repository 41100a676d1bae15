"""What a request tells the model, whoever has written it, and where two such tales part.

Strategies write the same conversation in other ways: other options, other identifiers of calls, reasoning
that goes back or does not, other text beside a call. None of this is a part of what is compared here. What
is: which tools there are, and each message in its order, as who says what, with which calls, and which call
a result belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal, TypeAlias

from toolreel_core._jsontext.canonical import Json, Tree, canonical, read

__all__ = ["Divergence", "Parting", "Said", "Told", "parting", "told_in"]

Parting: TypeAlias = Literal["opening", "calls", "result", "nudge", "tools", "again"]
"""``opening``: the conversation begins otherwise; ``calls``: other calls were heard in a reply;
``result``: a call came to something else; ``nudge``: the model is spoken to once more, or in other words;
``tools``: it is told of other tools; ``again``: it is asked once more for what it has answered."""

_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Said:
    """One message."""

    who: str
    """``system``, ``user``, ``assistant`` or ``tool``."""
    text: str = ""
    """Of an assistant that calls nothing, and of everybody else."""
    calls: tuple[tuple[str, str], ...] = ()
    """Name and arguments of each call; arguments that are JSON in its canonical form."""
    answers: int = 0
    """Which of the calls before it a result belongs to, from 1 on; 0: none of them, or it is no result."""


@dataclass(frozen=True, slots=True)
class Told:
    """All that a request tells."""

    tools: tuple[str, ...]
    """Their names, in alphabetical order."""
    said: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where a run asks for something that a recording does not answer."""

    kind: Parting
    what: str
    """In words for a person."""


def told_in(body: Tree) -> Told:
    """What the body of a request tells.

    >>> told_in({"messages": [{"role": "user", "content": "hello"}], "temperature": 1})
    Told(tools=(), said=(Said(who='user', text='hello', calls=(), answers=0),))
    """
    said, latest = list[Said](), tuple[str, ...]()
    for message in _trees(body.get("messages")):
        one = _said(message)
        if one.who == "assistant":
            latest = tuple(_text(call.get("id")) for call in _trees(message.get("tool_calls")))
        if one.who == "tool":
            one = replace(one, answers=_place(latest, _text(message.get("tool_call_id"))))
        if one != Said("assistant"):
            said.append(one)
    tools = () if body.get("tool_choice") == "none" else _trees(body.get("tools"))
    return Told(tuple(sorted(_text(_function(tool).get("name")) for tool in tools)), tuple(said))


def parting(recorded: Told | None, asked: Told) -> Divergence:
    """What is another in what is asked than in what was recorded.

    :param recorded: of the request that comes next in the recording, or of its last one; ``None`` if it
        is empty
    """
    before = recorded.said if recorded else ()
    for place, (old, new) in enumerate(zip_longest(before, asked.said)):
        if old != new and new is not None:
            return _of_message(old, new, asked.said[place + 1 :], opening=_opens(asked.said[:place]))
    if recorded and len(before) == len(asked.said) and recorded.tools != asked.tools:
        return Divergence("tools", f"is told of {_names(asked.tools)}, and was of {_names(recorded.tools)}")
    return Divergence("again", "asks once more for what has been answered")


def _of_message(old: Said | None, new: Said, rest: Sequence[Said], *, opening: bool) -> Divergence:
    if new.who == "tool":
        return Divergence("result", f"a call comes to {_short(new.text)}, and came to {_was(old)}")
    if new.who == "assistant" and new.calls:
        return Divergence("calls", f"hears {_calls(new)}, where there was {_was(old)}")
    if opening and old is not None and new.who != "assistant":
        return Divergence("opening", f"begins with {_short(new.text)}, and began with {_was(old)}")
    nudge = next((one for one in rest if one.who != "assistant"), new) if new.who == "assistant" else new
    return Divergence("nudge", f"tells the model {_short(nudge.text)}, where there was {_was(old)}")


def _opens(before: Sequence[Said]) -> bool:
    return all(one.who in {"system", "user"} for one in before)


def _was(old: Said | None) -> str:
    if old is None:
        return "nothing more"
    return _calls(old) if old.calls else _short(old.text)


def _calls(said: Said) -> str:
    return " and ".join(f"{name}({_cut(arguments)})" for name, arguments in said.calls)


def _names(tools: Sequence[str]) -> str:
    return ", ".join(tools) or "no tools"


def _short(text: str) -> str:
    return f'"{_cut(" ".join(text.split()))}"'


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _said(message: Tree) -> Said:
    who = {"developer": "system"}.get(role := _text(message.get("role")), role)
    calls = tuple(_call(_function(call)) for call in _trees(message.get("tool_calls")))
    return Said(who, "" if calls else _text(message.get("content")).strip(), calls)


def _call(function: Tree) -> tuple[str, str]:
    arguments = _text(function.get("arguments"))
    return _text(function.get("name")), read(arguments).map(canonical).value_or(arguments)


def _place(ids: Sequence[str], wanted: str) -> int:
    return ids.index(wanted) + 1 if wanted in ids else 0


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
