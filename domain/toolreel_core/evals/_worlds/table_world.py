"""A world of tables: answers, a state that they read and set, and the effects so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from toolreel_core._jsontext import NOTHING, Json, JsonText, Tree, canonical, parse
from toolreel_core.evals._worlds.json_pointer import at, steps, with_value
from toolreel_core.evals._worlds.world import failure, is_failure, success

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
class Effect:
    """A call that did something."""

    tool: str
    arguments: JsonText


@dataclass(frozen=True, slots=True)
class TableWorld:
    """Rows of answers, tried in their order."""

    rows: tuple[Row, ...] = ()
    effects: tuple[str, ...] = ()
    """Tools that do something; without a fitting row, a call of them works."""
    state: JsonText = NOTHING
    done: tuple[Effect, ...] = ()
    used: tuple[int, ...] = ()
    """How often each row has answered; empty at the beginning."""

    def call(self, name: str, arguments: Tree) -> tuple[TableWorld, JsonText]:
        """Answer with the first row that fits."""
        used = self.used or (0,) * len(self.rows)
        for place, row in enumerate(self.rows):
            if row.fits(name, arguments) and (not row.times or used[place] < row.times):
                counted = (*used[:place], used[place] + 1, *used[place + 1 :])
                return replace(self, used=counted)._answered(row, name, arguments)
        if name not in self.effects:
            return self, failure(name, "NOT_FOUND", f"{name} knows nothing of what was asked for.")
        return self._noted(name, arguments), success(name, {"noted": len(self.done) + 1})

    def told(self, name: str, arguments: Tree, output: str) -> TableWorld:
        """The world after a call of a real tool, whose result came from outside."""
        return self if is_failure(output) else self._noted(name, arguments)

    def _answered(self, row: Row, name: str, arguments: Tree) -> tuple[TableWorld, JsonText]:
        after = self._noted(name, arguments)._set(row, arguments) if row.done else self
        if row.code:
            return after, failure(name, row.code, row.message)
        if row.read:
            found = at(parse(after.state), _pointer(row.read, arguments))
            if found is None:
                return self, failure(name, "NOT_FOUND", f"{name} knows nothing of what was asked for.")
            return after, canonical(found)
        if row.then is not None:
            return after, canonical(_given(parse(row.then), arguments))
        return after, success(name, {"noted": len(after.done)})

    def _noted(self, name: str, arguments: Tree) -> TableWorld:
        if name not in self.effects:
            return self
        return replace(self, done=(*self.done, Effect(name, canonical(arguments))))

    def _set(self, row: Row, arguments: Tree) -> TableWorld:
        state = parse(self.state)
        for pointer, value in row.sets:
            state = with_value(state, steps(_pointer(pointer, arguments)), _given(parse(value), arguments))
        return replace(self, state=canonical(state))

    def contents(self) -> Json:
        """The effects in order, and the state."""
        done = [{"tool": each.tool, "arguments": parse(each.arguments)} for each in self.done]
        return {"orders": done, "state": parse(self.state)}


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


def _given(value: Json, arguments: Tree) -> Json:
    """A value with the arguments of a call in it."""
    match value:
        case str():
            return at(arguments, value.removeprefix("$arguments")) if value.startswith(_ARGUMENT) else value
        case Mapping():
            return {key: _given(item, arguments) for key, item in value.items()}
        case Sequence():
            return [_given(item, arguments) for item in value]
        case _:
            return value


def _pointer(pointer: str, arguments: Tree) -> str:
    """A pointer in which ``/$name`` is the argument of that name."""
    return "".join(f"/{_step(step, arguments)}" for step in pointer.split("/")[1:])


def _step(step: str, arguments: Tree) -> str:
    if not step.startswith("$"):
        return step
    value = arguments.get(step[1:])
    text = value if isinstance(value, str) else canonical(value)
    return text.replace("~", "~0").replace("/", "~1")
