"""The shapes: what a server answers, where that was seen, and what a tool loop should make of it.

They are data, in ``shapes/*.toml``; README.md says what each key means.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

__all__ = ["FOLDER", "Call", "Ending", "Ids", "Outcome", "Shape", "load", "subset"]

FOLDER = Path(__file__).with_name("shapes")

Outcome: TypeAlias = Literal[
    "executes",  # the calls run, exactly once, and the final text follows
    "executes_rest",  # the same, and the model is told about what did not run
    "tells",  # nothing runs, and the model is told what was wrong
    "recovers",  # nothing runs, the request is sent again, and the answer to that is taken
    "answers",  # nothing runs, and the text that the shape says is the result
    "fails",  # nothing runs, and the caller gets an error that was raised on purpose
]

Ending: TypeAlias = Literal["done", "clean", "drop"]
"""How a stream ends: with ``[DONE]``, with the end of the body, or with a lost connection."""

Ids: TypeAlias = Literal["any", "alnum9", "unique", "long"]
"""What the server asks of call ids: at most 64 characters, Mistral's nine letters and digits, that no id
comes twice in the conversation, or nothing, since it gives long ones itself."""


@dataclass(frozen=True, slots=True)
class Call:
    """An execution that is right."""

    tool: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Shape:
    """One shape."""

    id: str
    group: str
    about: str
    evidence: tuple[str, ...]
    """Public threads, as ``owner/name#number``, or a provider's own documentation."""
    right: tuple[Outcome, ...]
    calls: tuple[Call, ...] = ()
    """What may run; anything else that runs is wrong."""
    says: str = ""
    """What the result must contain where the outcome is ``answers``."""
    mode: Literal["plain", "stream"] = "plain"
    """How the client asks, if it can."""
    transient: bool = False
    """Whether the same request, sent again, gets a good answer."""
    message: Mapping[str, object] | None = None
    """The message of an otherwise ordinary completion."""
    finish: str | None = "tool_calls"
    extra: Mapping[str, object] | None = None
    """Keys that replace or join those of the completion."""
    raw: str | None = None
    """The text of a body, where it is no ordinary completion."""
    status: int = 200
    content_type: str = "application/json"
    stream: tuple[str, ...] = ()
    """The events of a stream: a delta, a whole chunk, ``!`` and a raw frame, ``~`` and seconds to wait."""
    ending: Ending = "done"
    newline: str = "\n"
    then: tuple[Mapping[str, object], ...] = ()
    """Messages of further turns, each sent when the one before was dealt with."""
    back: Mapping[str, object] | None = None
    """What the assistant message of the next request must hold, as this server insists."""
    ids: Ids = "any"


def load(folder: Path = FOLDER) -> tuple[Shape, ...]:
    """All shapes, in the order of their files.

    :raises ValueError: if one is not written as README.md says; the text names it
    """
    shapes: dict[str, Shape] = {}
    for path in sorted(folder.glob("*.toml")):
        for entry in tomllib.loads(path.read_text("utf-8"))["shape"]:
            try:
                shape = _shape(entry, path.stem)
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"{path.name}: {entry.get('id')}: {error!r}") from error
            if shape.id in shapes:
                raise ValueError(f"{path.name}: {shape.id} is there twice")
            shapes[shape.id] = shape
    return tuple(shapes.values())


def _shape(entry: Mapping[str, object], group: str) -> Shape:
    given: dict[str, Any] = dict(entry)  # what is wrong with a value comes out below, or in the first run
    for key in ("message", "extra", "back"):
        if key in given:
            given[key] = json.loads(_filled(str(given[key])))
    if given.get("finish") == "null":
        given["finish"] = None
    for key in ("evidence", "right", "stream"):
        if key in given:
            given[key] = tuple(_list(given[key]))
    given["calls"] = tuple(_call(str(text)) for text in _list(given.get("calls", [])))
    given["then"] = tuple(json.loads(str(text)) for text in _list(given.get("then", [])))
    if "stream" in given:
        given.setdefault("mode", "stream")
    shape = Shape(group=group, **given)
    _check(shape)
    return shape


def _check(shape: Shape) -> None:
    if not shape.evidence or not shape.about:
        raise ValueError("a shape says what it is about and where it was seen")
    for outcome in shape.right:
        if outcome not in get_args(Outcome):
            raise ValueError(f"there is no outcome {outcome!r}")
    if ("answers" in shape.right) != bool(shape.says):
        raise ValueError("says and the outcome answers belong together")
    if sum(map(bool, (shape.message is not None, shape.raw is not None, shape.stream))) != 1:
        raise ValueError("a shape has one of message, raw and stream")
    if bool(shape.calls) != bool({"executes", "executes_rest"} & set(shape.right)):
        raise ValueError("calls and the outcomes that execute belong together")


def _filled(text: str) -> str:
    """What is too long to be written out: an integer of 4,400 digits, and lists 3,000 deep."""
    return text.replace("@DIGITS@", "1" * 4400).replace("@DEEP@", "[" * 3000 + "]" * 3000)


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError(f"expected a list, got {value!r}")
    return value


def _call(text: str) -> Call:
    tool, _, arguments = text.partition(" ")
    return Call(tool, json.loads(arguments or "{}"))


def subset(wanted: object, given: object) -> bool:
    """Whether all of a JSON value is in another: objects may have more keys there, lists may not.

    >>> subset({"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}], "d": 3})
    True
    """
    if isinstance(wanted, Mapping):
        return isinstance(given, Mapping) and all(
            key in given and subset(value, given[key]) for key, value in wanted.items()
        )
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        return (
            isinstance(given, Sequence)
            and len(wanted) == len(given)
            and all(subset(one, other) for one, other in zip(wanted, given, strict=True))
        )
    return wanted == given
