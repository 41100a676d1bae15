"""Checks as data: each ``[[check]]`` table is a condition about calls, effects, the world or the answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, cast

from toolreel_core._internal import Table, unknown_name
from toolreel_core._jsontext import Json, Tree, canonical
from toolreel_core.evals._own_scenarios.draws import filled
from toolreel_core.evals._own_scenarios.table_world import alike, has_arguments
from toolreel_core.evals._scenarios.checks import arguments_of
from toolreel_core.evals._scenarios.claims import contains
from toolreel_core.evals._scenarios.evidence import Evidence, ObservedCall
from toolreel_core.evals._scenarios.scenario import Check, Layer
from toolreel_core.evals._worlds.json_pointer import at

ANY: Final = "any"
"""All answers together, where a check is about an exchange."""
ANSWERED: Final = "answer"
"""The check that every scenario has: the final text is not blank."""

_LAYERS: Final[tuple[Layer, ...]] = ("outcome", "exercise")


@dataclass(frozen=True, slots=True)
class CheckData:
    """One check as the file has it; its values may have placeholders."""

    kind: str
    name: str
    layer: Layer
    values: Tree

    def check(self, drawn: Mapping[str, Json]) -> Check:
        """The check of one trial."""
        values = cast("Tree", filled(self.values, drawn))
        return Check(self.name, self.layer, partial(_KINDS[self.kind].finding, values))


@dataclass(frozen=True, slots=True)
class _Kind:
    finding: Callable[[Tree, Evidence], str]
    """What is wrong, in words; empty if nothing is."""
    about: str
    """What stands under its key, for errors."""
    fits: Callable[[object], bool]
    beside: tuple[str, ...] = ()
    """Further keys that it takes."""


def checks_of(tables: Sequence[Table], tools: Sequence[str], exchanges: int) -> tuple[CheckData, ...]:
    """The checks of a file.

    :param tools: that there are
    :param exchanges: how often the user speaks
    :raises PlaceError: at the first error
    """
    checks = list[CheckData]()
    for table in tables:
        data = _check(table, tools, exchanges, {ANSWERED, *(check.name for check in checks)})
        checks.append(data)
    return tuple(checks)


def _check(table: Table, tools: Sequence[str], exchanges: int, taken: set[str]) -> CheckData:
    kind = _kind_of(table)
    what = _KINDS[kind]
    table.only(kind, "name", "layer", *what.beside)
    value = table.values[kind]
    if not what.fits(value):
        raise table.complaint(f"expected {what.about}, got {value!r}", kind)
    for tool in _tools_in(kind, table.values):
        if tool not in tools:
            raise table.complaint(unknown_name("tool", tool, tools), kind)
    _check_beside(table, kind, exchanges)
    layer = table.choice("layer", _LAYERS) if "layer" in table.values else "outcome"
    return CheckData(kind, _name(table, kind, taken), cast("Layer", layer), _values(table, kind, what.beside))


def _tools_in(kind: str, values: Tree) -> Sequence[str]:
    """The tools that a check names."""
    if kind in {"claim", "at_most"}:
        return [str(values["of"])] if "of" in values else []
    if kind == "effects":
        return [str(one["tool"]) for one in cast("Sequence[Tree]", values[kind])]
    return [*map(str, _listed(values[kind]))] if kind in _OF_TOOLS else []


def _check_beside(table: Table, kind: str, exchanges: int) -> None:
    if kind == "claim" and not table.text("of"):
        raise table.complaint('write the tool that the claim is about: of = "…"', "of")
    table.table("with").json()
    if "times" in table.values:
        table.whole("times", 1)
    number = exchanges if table.values.get("exchange") == ANY else table.whole("exchange", 1, exchanges)
    if number > exchanges:
        raise table.complaint(
            f"the user speaks {exchanges} times, so there is no exchange {number}", "exchange"
        )


def _kind_of(table: Table) -> str:
    kinds = [key for key in table.values if key in _KINDS]
    if len(kinds) == 1:
        return kinds[0]
    if len(kinds) > 1:
        raise table.complaint(f"one check has {' and '.join(kinds)}; write a [[check]] for each")
    keys = [key for key in table.values if key not in _BESIDE]
    if keys:
        raise table.complaint(unknown_name("check", keys[0], _KINDS))
    raise table.complaint(f"says nothing to check; write one of {', '.join(_KINDS)}")


def _name(table: Table, kind: str, taken: set[str]) -> str:
    if name := table.text("name"):
        if name in taken:
            raise table.complaint(f"there is a check {name!r} already; choose another name", "name")
        return name
    value = table.values[kind]
    base = f"{kind}_{value}" if kind in {"called", "never"} else kind
    names = [base, *(f"{base}_{number}" for number in range(2, len(taken) + 3))]
    return next(each for each in names if each not in taken)


def _values(table: Table, kind: str, beside: Sequence[str]) -> Tree:
    given = {key: table.values[key] for key in (kind, *beside) if key in table.values}
    return cast("Tree", Table.of(given, *table.place).checked(canonical).values)


def _called(values: Tree, seen: Evidence) -> str:
    name, wanted = str(values["called"]), values.get("with", {})
    times = values.get("times")
    made = [call for call in _calls(seen, name) if call.ok and has_arguments(arguments_of(call), wanted)]
    how = f" with {_short(wanted)}" if wanted else ""
    if times is not None and len(made) != times:
        return f"{name}{how} was called {len(made)} times with success, not {times}"
    return "" if made else f"{name}{how} was never called with success"


def _never(values: Tree, seen: Evidence) -> str:
    name, unwanted = str(values["never"]), values.get("with", {})
    made = [call for call in _calls(seen, name) if has_arguments(arguments_of(call), unwanted)]
    return f"{name} was called with {made[0].arguments}" if made else ""


def _effects(values: Tree, seen: Evidence) -> str:
    wanted = [*cast("Sequence[Tree]", values["effects"])]
    done = [*cast("Sequence[Tree]", at(seen.world.contents(), "/orders") or ())]
    fine = len(done) == len(wanted) and all(
        one["tool"] == other["tool"] and alike(one["arguments"], other.get("with", {}))
        for one, other in zip(done, wanted, strict=True)
    )
    return "" if fine else f"expected the effects {_short(wanted)}, got {_short(done)}"


def _order(values: Tree, seen: Evidence) -> str:
    names = [*cast("Sequence[str]", values["order"])]
    made = iter([call.name for call in seen.calls if call.ok])
    # Each `in` goes on where the one before has stopped.
    missing = next((name for name in names if name not in made), "")
    return f"{missing} was not called in the order {', '.join(names)}" if missing else ""


def _forbidden_order(values: Tree, seen: Evidence) -> str:
    first, later = cast("Sequence[str]", values["forbidden_order"])
    made = [call.name for call in seen.calls]
    broken = first in made and later in made[made.index(first) + 1 :]
    return f"{later} was called after {first}" if broken else ""


def _says(values: Tree, seen: Evidence) -> str:
    text = _answer(seen, values)
    missing = [each for each in _listed(values["says"]) if not _contains(text, each)]
    return f"the answer does not say {_short(missing[0])}: {_cut(text)}" if missing else ""


def _says_one_of(values: Tree, seen: Evidence) -> str:
    wanted, text = _listed(values["says_one_of"]), _answer(seen, values)
    fine = any(_contains(text, each) for each in wanted)
    return "" if fine else f"the answer says none of {_short(wanted)}: {_cut(text)}"


def _says_not(values: Tree, seen: Evidence) -> str:
    text = _answer(seen, values)
    found = [each for each in _listed(values["says_not"]) if _contains(text, each)]
    return f"the answer says {_short(found[0])}: {_cut(text)}" if found else ""


def _matches(values: Tree, seen: Evidence) -> str:
    pattern = str(values["matches"])
    text = _answer(seen, values)
    return "" if re.search(pattern, text) else f"the answer does not match {pattern!r}: {_cut(text)}"


def _claim(values: Tree, seen: Evidence) -> str:
    words, tool = _listed(values["claim"]), str(values["of"])
    text = _answer(seen, values)
    claimed = [each for each in words if _contains(text, each)]
    false = claimed and not any(call.ok for call in _calls(seen, tool))
    return (
        f"the answer claims {_short(claimed[0])}, and {tool} was never called with success" if false else ""
    )


def _world(values: Tree, seen: Evidence) -> str:
    wanted = cast("Tree", values["world"])
    state = at(seen.world.contents(), "/state")
    for pointer, value in wanted.items():
        if not alike(there := at(state, pointer), value):
            return f"{pointer} should be {_short(value)}, it is {_short(there)}"
    return ""


def _at_most(values: Tree, seen: Evidence) -> str:
    limit, name = cast("int", values["at_most"]), str(values.get("of", ""))
    made = len(_calls(seen, name) if name else seen.calls)
    return f"{made} calls{f' of {name}' if name else ''}, and {limit} are allowed" if made > limit else ""


def _calls(seen: Evidence, name: str) -> list[ObservedCall]:
    return [call for call in seen.calls if call.name == name]


def _answer(seen: Evidence, values: Tree) -> str:
    number = values.get("exchange")
    if number == ANY:
        return "\n".join(seen.answers)
    if not isinstance(number, int):
        return seen.final
    return seen.answers[number - 1] if number <= len(seen.answers) else ""


def _contains(text: str, wanted: Json) -> bool:
    if isinstance(wanted, int | float) and not isinstance(wanted, bool):
        return contains(text, wanted)
    return contains(text, str(wanted))


def _listed(value: Json) -> list[Json]:
    return [*value] if isinstance(value, list | tuple) else [value]


def _short(value: Json) -> str:
    return _cut(canonical(value))


def _cut(text: str) -> str:
    return text if len(text) <= 160 else f"{text[:160]}…"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_said(value: object) -> bool:
    items = value if isinstance(value, list | tuple) else [value]
    return bool(items) and all(type(item) in {int, float} or _is_text(item) for item in items)


def _are_tools(least: int, most: int) -> Callable[[object], bool]:
    def fits(value: object) -> bool:
        return isinstance(value, list | tuple) and least <= len(value) <= most and all(map(_is_text, value))

    return fits


def _are_effects(value: object) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(one, Mapping) and _is_text(one.get("tool")) and set(one) <= {"tool", "with"}
        for one in value
    )


def _is_pattern(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(re.compile(value))
    except re.error:
        return False


_MANY: Final = 1_000
_SAID: Final = "a text, a number, or a list of them"

_KINDS: Final[Mapping[str, _Kind]] = {
    "called": _Kind(_called, "the name of a tool", _is_text, ("with", "times")),
    "never": _Kind(_never, "the name of a tool", _is_text, ("with",)),
    "effects": _Kind(_effects, 'a list of { tool = "…", with = {…} }', _are_effects),
    "order": _Kind(_order, "a list of at least two tools", _are_tools(2, _MANY)),
    "forbidden_order": _Kind(_forbidden_order, "two tools", _are_tools(2, 2)),
    "says": _Kind(_says, _SAID, _is_said, ("exchange",)),
    "says_one_of": _Kind(_says_one_of, _SAID, _is_said, ("exchange",)),
    "says_not": _Kind(_says_not, _SAID, _is_said, ("exchange",)),
    "matches": _Kind(_matches, "a regular expression of Python", _is_pattern, ("exchange",)),
    "claim": _Kind(_claim, _SAID, _is_said, ("of", "exchange")),
    "world": _Kind(_world, "a table of pointers and values", lambda value: isinstance(value, Mapping)),
    "at_most": _Kind(_at_most, "a number of calls", lambda value: type(value) is int and value >= 0, ("of",)),
}
"""The kinds of checks, by the key that makes a table one of them."""

_OF_TOOLS: Final = ("called", "never", "order", "forbidden_order")
_BESIDE: Final = ("name", "layer", "with", "times", "of", "exchange")
