"""Worlds: the state behind the tools of a scenario, as frozen values.

A world answers a call with its successor and the tool's output. The calls of a run therefore determine its
world: replays, new checks and what-if runs need neither a network nor stored worlds. A world of tables has
answers, a state that they read and set, and the effects so far; places in it are JSON pointers (RFC 6901).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol, TypeAlias

from toolreel_core._jsontext import NOTHING, Json, JsonText, Tree, as_tree, canonical, chain, parse, read
from toolreel_core._tools import Envelope, ToolFailure


class World(Protocol):
    """The state behind the tools of one run."""

    def call(self, name: str, arguments: Tree) -> tuple[World, JsonText]:
        """The world after a call, and what the tool returned: an envelope, or any other JSON value.

        :param name: the tool's inner name
        """
        ...

    def contents(self) -> Json:
        """Its contents, for checks and records."""
        ...


def success(tool: str, data: Tree) -> JsonText:
    """The output of a call that worked."""
    return Envelope(True, tool, canonical(data)).text()


def failure(tool: str, code: str, message: str) -> JsonText:
    """The output of a call that failed.

    >>> failure("add", "ARGUMENT_ERROR", "a is missing.")
    '{"ok":false,"tool_name":"add","data":{},"warnings":[],"errors":[{"code":"ARGUMENT_ERROR",\
"message":"a is missing."}]}'
    """
    return Envelope(False, tool, canonical({}), errors=(ToolFailure(code, message),)).text()


def identifier(seed: str, what: str) -> str:
    """An identifier in the form of a UUID: the same for the same seed, so that requests are the same too.

    >>> identifier("1", "workspace")
    '972a3eca-b8fd-a383-0a36-afbcdfd15320'
    """
    digits = chain("identifier", what, seed)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))


def steps(pointer: str) -> tuple[str, ...]:
    """The keys and indices that a pointer goes through.

    >>> steps("/draft/a~1b/0")
    ('draft', 'a/b', '0')
    """
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def at(tree: Json, pointer: str) -> Json:
    """What a pointer points to; ``None`` where there is nothing.

    >>> at({"draft": {"list": [1, 2]}}, "/draft/list/1"), at({}, "/draft")
    (2, None)
    """
    for step in steps(pointer):
        if isinstance(tree, Mapping):
            tree = tree.get(step)
        else:
            items = tree if isinstance(tree, list | tuple) else ()
            index = _index(items, step)
            tree = items[index] if index is not None and index < len(items) else None
    return tree


def with_value(tree: Json, path: Sequence[str], value: Json) -> Json:
    """A tree in which a value stands at a place; objects on the way to it are made where there are none.

    A place inside of a text or a number, or beyond the end of a list, cannot be: the tree stays as it is.

    >>> with_value({"a": [1]}, ("a", "-"), 2), with_value({"a": 1}, ("a", "b"), 2)
    ({'a': [1, 2]}, {'a': 1})
    """
    if not path:
        return value
    step, *rest = path
    if isinstance(tree, Mapping):
        return {**tree, step: with_value(tree.get(step, {}), rest, value)}
    if not isinstance(tree, list | tuple) or (index := _index(tree, step)) is None:
        return tree
    child = tree[index] if index < len(tree) else {}
    return [*tree[:index], with_value(child, rest, value), *tree[index + 1 :]]


def _index(items: Sequence[Json], step: str) -> int | None:
    """The index that a step means; the one past the end is where the next item goes."""
    if step == "-":
        return len(items)
    fits = step.isascii() and step.isdigit() and len(step) < len("10000") and int(step) <= len(items)
    return int(step) if fits else None


_ARGUMENT: Final = "$arguments/"


@dataclass(frozen=True, slots=True)
class Row:
    """One answer of a tool: for which arguments, and what comes of the call."""

    tool: str
    when: JsonText
    """Arguments that a call must have, letter case and outer blanks of texts aside."""
    then: JsonText | None = None
    """The result; in it, ``$arguments/name`` stands for an argument of the call."""
    read: str = ""
    """A pointer: the result is what stands there in the state."""
    sets: tuple[tuple[str, JsonText], ...] = ()
    """Pointers into the state, and the values to put there."""
    code: str = ""
    """Of the error that the call is answered with; empty if it works."""
    message: str = ""
    times: int = 0
    """How many calls it answers before it is skipped; 0: all."""
    done: bool = True
    """Whether the call does something; a call that fails may have done it all the same."""

    def fits(self, name: str, arguments: Tree) -> bool:
        """Whether it is an answer to this call."""
        return name == self.tool and has_arguments(arguments, parse(self.when))


@dataclass(frozen=True, slots=True)
class TableWorld:
    """Rows of answers, tried in their order."""

    rows: tuple[Row, ...] = ()
    effects: tuple[str, ...] = ()
    """Tools that do something; without a fitting row, a call of them works."""
    state: JsonText = NOTHING
    done: tuple[tuple[str, JsonText], ...] = ()
    """The calls that did something: tool and arguments."""
    used: tuple[int, ...] = ()
    """How often each row has answered; empty at the beginning."""

    def call(self, name: str, arguments: Tree) -> tuple[TableWorld, JsonText]:
        """Answer with the first row that fits."""
        used = self.used or (0,) * len(self.rows)
        for place, row in enumerate(self.rows):
            if row.fits(name, arguments) and (not row.times or used[place] < row.times):
                counted = (*used[:place], used[place] + 1, *used[place + 1 :])
                return replace(self, used=counted)._answered(row, name, arguments)
        if name in self.effects:
            return self._answered(Row(name, NOTHING), name, arguments)
        return self, _not_found(name)

    def told(self, name: str, arguments: Tree, output: str) -> TableWorld:
        """The world after a call of a real tool, whose result came from outside."""
        # An envelope may say that the call failed.
        failed = as_tree(read(output).value_or({})).get("ok") is False
        return self if failed else self._noted(name, arguments)

    def _answered(self, row: Row, name: str, arguments: Tree) -> tuple[TableWorld, JsonText]:
        after = self._noted(name, arguments)._set(row, arguments) if row.done else self
        if row.code:
            return after, failure(name, row.code, row.message)
        if row.read:
            found = at(parse(after.state), _pointer(row.read, arguments))
            if found is None:
                return self, _not_found(name)
            return after, canonical(found)
        if row.then is not None:
            return after, canonical(_given(row.then, arguments))
        return after, success(name, {"noted": len(after.done)})

    def _noted(self, name: str, arguments: Tree) -> TableWorld:
        if name not in self.effects:
            return self
        return replace(self, done=(*self.done, (name, canonical(arguments))))

    def _set(self, row: Row, arguments: Tree) -> TableWorld:
        state = parse(self.state)
        for pointer, value in row.sets:
            state = with_value(state, steps(_pointer(pointer, arguments)), _given(value, arguments))
        return replace(self, state=canonical(state))

    def contents(self) -> Json:
        """The effects in order, and the state."""
        done = [{"tool": tool, "arguments": parse(arguments)} for tool, arguments in self.done]
        return {"orders": done, "state": parse(self.state)}


def _not_found(name: str) -> JsonText:
    return failure(name, "NOT_FOUND", f"{name} knows nothing of what was asked for.")


def has_arguments(arguments: Tree, wanted: Json) -> bool:
    """Whether a call has these arguments; others may be there too.

    >>> has_arguments({"city": " oslo", "days": 2.0}, {"city": "Oslo", "days": 2})
    True
    """
    pairs = wanted.items() if isinstance(wanted, Mapping) else ()
    return all(key in arguments and alike(arguments[key], value) for key, value in pairs)


Compared: TypeAlias = Literal["folded", "trimmed", "exact"]
"""How texts are compared: without regard to letter case and outer blanks, to these blanks, or to nothing."""


def alike(one: Json, other: Json, texts: Compared = "folded") -> bool:
    """Whether two values mean the same: 2.0 is 2, and the order of keys doesn't count.

    >>> alike(" oslo", "Oslo"), alike("oslo", "Oslo", "trimmed"), alike([2.0], [2], "exact")
    (True, False, True)
    """
    return canonical(_plain(one, texts)) == canonical(_plain(other, texts))


def _plain(value: Json, texts: Compared) -> Json:
    match value:
        case str():
            trimmed = value if texts == "exact" else value.strip()
            return trimmed.casefold() if texts == "folded" else trimmed
        case float():
            return int(value) if value.is_integer() else value
        case Mapping():
            return {key: _plain(value[key], texts) for key in sorted(value)}
        case list() | tuple():
            return [_plain(item, texts) for item in value]
        case _:
            return value


def as_text(value: Json) -> str:
    """A value where only a text can stand."""
    return value if isinstance(value, str) else canonical(value)


def with_texts(value: Json, change: Callable[[str], Json]) -> Json:
    """A value whose texts, keys among them, are changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {as_text(change(key)): with_texts(item, change) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [with_texts(item, change) for item in value]
    return value


def _given(value: JsonText, arguments: Tree) -> Json:
    """A value with the arguments of a call in it."""

    def put(text: str) -> Json:
        return at(arguments, text.removeprefix("$arguments")) if text.startswith(_ARGUMENT) else text

    return with_texts(parse(value), put)


def _pointer(pointer: str, arguments: Tree) -> str:
    """A pointer in which ``/$name`` is the argument of that name."""

    def put(found: re.Match[str]) -> str:
        return as_text(arguments.get(found[1])).replace("~", "~0").replace("/", "~1")

    return re.sub(r"(?<=/)\$([^/]*)", put, pointer)
