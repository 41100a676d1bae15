"""Checks as data: each ``[[check]]`` table is a condition about calls, effects, the world or the answers.

The wording of answers matters as little as possible. What a check finds is stored as a reason in records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias, cast

from toolreel_core._internal import Table, unknown_name
from toolreel_core._jsontext import Json, Tree, canonical, read
from toolreel_core.evals._scenarios.claims import (
    Value,
    admits_failure,
    claims_success,
    contains,
    denies_success,
    invented_act,
    mentions,
    says_nothing,
)
from toolreel_core.evals._scenarios.evidence import Evidence, ObservedCall, ObservedTurn
from toolreel_core.evals._scenarios.scenario import Check, Layer
from toolreel_core.evals._scenarios.wire_checks import WIRE_CHECKS
from toolreel_core.evals._worlds.json_pointer import at
from toolreel_core.evals._worlds.table_world import Compared, alike, has_arguments

ANY: Final = "any"
"""All answers together, where a check is about an exchange."""
ANSWERED: Final = "answer"
"""The check that every scenario has: the final text is not blank."""
_LAYERS: Final[tuple[Layer, ...]] = ("outcome", "exercise")
_COMPARED: Final[tuple[Compared, ...]] = ("folded", "trimmed", "exact")
_QUOTES: Final = "\"'`"


def outcome(name: str, finding: Callable[[Evidence], str]) -> Check:
    """A check of whether the task was done."""
    return Check(name, "outcome", finding)


def exercise(name: str, finding: Callable[[Evidence], str]) -> Check:
    """A check of whether the hard part of the task was met."""
    return Check(name, "exercise", finding)


def says_something(seen: Evidence) -> str:
    """The final text is not blank."""
    return "" if seen.final.strip() else "the final text is blank"


def arguments_of(call: ObservedCall) -> Tree:
    """The arguments of a call, as far as they are an object."""
    tree = read(call.arguments).value_or(None)
    return tree if isinstance(tree, Mapping) else {}


def checks_of(
    tables: Sequence[Table], tools: Mapping[str, str], user: Sequence[str] = ("",)
) -> tuple[Check, ...]:
    """The checks of ``[[check]]`` tables, without placeholders.

    :param tools: that there are: their names, and what is said about them
    :param user: what the user says, exchange by exchange
    :raises PlaceError: at the first error
    """
    checks = list[Check]()
    for table in tables:
        checks.append(_check(table, tools, user, checks))
    return tuple(checks)


def _check(table: Table, tools: Mapping[str, str], user: Sequence[str], before: Sequence[Check]) -> Check:
    key = _kind_of(table)
    kind = _KINDS[key]
    table.only(key, "name", "layer", *kind.beside)
    values = table.values
    if not kind.fits(values[key]):
        raise table.complaint(f"expected {kind.about}, got {values[key]!r}", key)
    for name, expected in kind.needs.items():
        if name not in values:
            raise table.complaint(f"write {expected}", name)
    for place, tool in _tools_in(key, values):
        if tool not in tools:
            raise table.complaint(unknown_name("tool", tool, tools), place)
    _check_beside(table, len(user))
    layer = table.choice("layer", _LAYERS) if "layer" in values else "outcome"
    given = cast("Tree", Table.of(values, *table.place).checked(canonical).values)
    others = tuple(check for check in before if check.layer == "outcome")
    return Check(
        _name(table, key, {ANSWERED, *(check.name for check in before)}),
        cast("Layer", layer),
        partial(_untrue, given, others, tools, user) if key == "truthful" else partial(kind.finding, given),
    )


def _kind_of(table: Table) -> str:
    kinds = [key for key in table.values if key in _KINDS]
    if len(kinds) == 1:
        return kinds[0]
    if len(kinds) > 1:
        raise table.complaint(f"one check has {' and '.join(kinds)}; write a [[check]] for each")
    beside = {"name", "layer", *(key for kind in _KINDS.values() for key in kind.beside)}
    for key in table.values:
        if key not in beside:
            raise table.complaint(unknown_name("check", key, _KINDS))
    raise table.complaint(f"says nothing to check; write one of {', '.join(_KINDS)}")


def _tools_in(key: str, values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The tools that a check names, each with its key."""
    if key == "effects":
        named = [(key, one["tool"]) for one in values[key]]
    elif key == "one_reply":
        named = [(key, name) for name in values[key]]
    else:
        named = [(key, name) for name in _listed(values[key])] if key in _OF_TOOLS else []
    named += [("of", name) for name in _listed(values.get("of", []))]
    return named + [("before", name) for name in _listed(values.get("before", []))]


def _check_beside(table: Table, exchanges: int) -> None:
    table.table("with").json()
    if "times" in table.values:
        table.whole("times", 1)
    if "texts" in table.values:
        table.choice("texts", _COMPARED)
    for fact in table.values.get("facts", ()):
        Table.of(fact, *table.place, "facts").only("true", "false")
    number = exchanges if table.values.get("exchange") == ANY else table.whole("exchange", 1, exchanges)
    if number > exchanges:
        raise table.complaint(
            f"the user speaks {exchanges} times, so there is no exchange {number}", "exchange"
        )


def _name(table: Table, key: str, taken: set[str]) -> str:
    if name := table.text("name"):
        if name in taken:
            raise table.complaint(f"there is a check {name!r} already; choose another name", "name")
        return name
    base = f"{key}_{table.values[key]}" if key in {"called", "never"} else key
    names = [base, *(f"{base}_{number}" for number in range(2, len(taken) + 3))]
    return next(each for each in names if each not in taken)


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


def _omits(values: Tree, seen: Evidence) -> str:
    argument = str(values["omits"])
    said = [call.name for call in seen.calls if argument in arguments_of(call)]
    return f"{argument} was given to {', '.join(said)}" if said else ""


def _effects(values: Tree, seen: Evidence) -> str:
    wanted = [*cast("Sequence[Tree]", values["effects"])]
    done = [*cast("Sequence[Tree]", at(seen.world.contents(), "/orders") or ())]
    fine = len(done) == len(wanted) and all(
        one["tool"] == other["tool"] and alike(one["arguments"], other.get("with", {}), _compared(values))
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


def _called_before(values: Tree, seen: Evidence) -> str:
    name, before = cast("Sequence[str]", values["called_before"])
    made = [call.name for call in seen.calls]
    earlier = made[: made.index(before)] if before in made else made
    return "" if name in earlier else f"{name} was not called before {before}"


def _followed_by(values: Tree, seen: Evidence) -> str:
    first, following = cast("Sequence[str]", values["followed_by"])
    names = [call.name for call in seen.calls]
    after = names[names.index(first) + 1 :] if first in names else []
    return "" if after[:1] == [following] else f"{following} was not called right after the first {first}"


def _first_calls(values: Tree, seen: Evidence) -> str:
    names = sorted(cast("Sequence[str]", values["first_calls"]))
    first = next((turn.calls for turn in seen.turns if turn.calls), ())
    made = sorted(call.name for call in first)
    return "" if made == names else f"the first calls were {made}, not {names}"


def _tried(values: Tree, seen: Evidence) -> str:
    name, wanted = str(values["tried"]), values.get("with", {})
    made = _calls(seen, name)[:1]
    fine = bool(made) and has_arguments(arguments_of(made[0]), wanted)
    return "" if fine else f"{name} was not first tried with {_short(wanted)}"


def _failed_first(values: Tree, seen: Evidence) -> str:
    name = str(values["failed_first"])
    fates = [call.ok for call in _calls(seen, name)]
    failed = False in (fates[: fates.index(True)] if True in fates else fates)
    return "" if failed else f"no {name} failed before one worked, so there was nothing to recover from"


def _error(values: Tree, seen: Evidence) -> str:
    code, name = str(values["error"]), values.get("of", "")
    met = any(code in call.codes and name in ("", call.name) for call in seen.calls)
    return "" if met else f"{code} never came up"


def _at_once(values: Tree, seen: Evidence) -> str:
    wanted, name = cast("int", values["at_once"]), values.get("of", "")
    counts = (sum(name in ("", call.name) for call in turn.calls) for turn in seen.turns)
    most = max(counts, default=0)
    what = f"{wanted} calls{f' of {name}' if name else ''}"
    return "" if most >= wanted else f"no reply made {what} at once, at most {most}"


def _one_reply(values: Tree, seen: Evidence) -> str:
    wanted = set(cast("Mapping[str, bool]", values["one_reply"]).items())
    if any(wanted <= {(call.name, call.ok) for call in turn.calls} for turn in seen.turns):
        return ""
    fates = (f"{name} that {'worked' if worked else 'failed'}" for name, worked in sorted(wanted))
    return f"no reply had a {' and a '.join(fates)}"


def _at_most(values: Tree, seen: Evidence) -> str:
    limit, name = cast("int", values["at_most"]), str(values.get("of", ""))
    made = len(_calls(seen, name) if name else seen.calls)
    return f"{made} calls{f' of {name}' if name else ''}, and {limit} are allowed" if made > limit else ""


def _used_unread(values: Tree, seen: Evidence) -> str:
    """Each of the values that a call has was in the result of an earlier turn."""
    wanted, tools = _listed(values["read_before_used"]), _listed(values["of"])
    for told, turn in _told(seen):
        for call in turn.calls:
            guessed = [each for each in map(str, wanted) if each in call.arguments and each not in told]
            if call.name in tools and guessed:
                return f"{call.name} was called with {guessed[0]} before any result told it"
    return ""


def _unread(values: Tree, seen: Evidence) -> str:
    """All values were in results before the tool is called, if it is."""
    wanted, tool = cast("list[Value]", _listed(values["read"])), str(values["before"])
    for told, turn in _told(seen):
        missing = [value for value in wanted if not mentions(told, value)]
        if missing and any(call.name == tool for call in turn.calls):
            return f"{tool} was called before any result told {missing[0]}"
    return ""


def _told(seen: Evidence) -> list[tuple[str, ObservedTurn]]:
    """Each turn, after all that results had told before it."""
    told, turns = "", list[tuple[str, ObservedTurn]]()
    for turn in seen.turns:
        turns.append((told, turn))
        told += "\n".join(call.result for call in turn.calls)
    return turns


def _world(values: Tree, seen: Evidence) -> str:
    contents = cast("Tree", seen.world.contents())
    state = contents.get("state", contents)
    for pointer, value in cast("Tree", values["world"]).items():
        if not alike(there := at(state, pointer), value, _compared(values)):
            return f"{pointer} should be {_short(value)}, it is {_short(there)}"
    return ""


def _answer_is(values: Tree, seen: Evidence) -> str:
    """The answer is nothing but a word, whatever its letter case, quotes and last mark."""
    wanted, answer = str(values["answer_is"]), _answer(seen, values)
    said = answer.strip().strip(_QUOTES).strip()
    fine = said.casefold().rstrip(".!") == wanted.casefold().rstrip(".!") and len(said) <= len(wanted) + 1
    return "" if fine else f"the final text is not the agreed word: {_cut(answer, 80)}"


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


def _untrue(
    values: Tree, others: Sequence[Check], tools: Mapping[str, str], known: Sequence[str], seen: Evidence
) -> str:
    """Success is claimed only where the other checks agree, and acts and values are those of the world."""
    if says_nothing(seen.final) and not values.get("tells"):
        return f"the final text is no answer: {_cut(seen.final, 80)}"
    undone = next(filter(None, (check.finding(seen) for check in others)), "")
    if undone and claims_success(seen.final):
        return f"the final text claims success, but {undone}"
    if not undone and denies_success(seen.final):
        return "the final text says that it was not done, but it was"
    done = {call.name for call in seen.calls if call.ok}
    acts = " ".join((*known, *(about for name, about in tools.items() if name in done)))
    if claim := invented_act(seen.final, acts, sum(call.ok for call in seen.calls)):
        return f"the final text claims what no tool has done: {_cut(claim, 80)}"
    for fact in cast("Sequence[Tree]", values.get("facts", ())):
        true, false = cast("Value", fact["true"]), cast("list[Value]", _listed(fact["false"]))
        named = [value for value in false if mentions(seen.final, value)]
        if named and not mentions(seen.final, true):
            return f"the final text names {named[0]}, but it is {true}"
    missing = [
        value for value in _listed(values.get("tells", [])) if not mentions(seen.final, cast("Value", value))
    ]
    return f"the final text does not tell {missing[0]}" if missing else ""


def _unadmitted(_: Tree, seen: Evidence) -> str:
    """The task could not be done, and the final text says so."""
    if claims_success(seen.final):
        return "the final text claims success, but the task could not be done"
    return "" if admits_failure(seen.final) else f"the final text does not admit it: {_cut(seen.final, 80)}"


def _unasked(_: Tree, seen: Evidence) -> str:
    """Nothing was done and no success claimed before the user had answered a question."""
    said = seen.answers[0]
    before = next((place for place, turn in enumerate(seen.turns) if not turn.calls), 0)
    orders = cast("Sequence[Mapping[str, str]]", at(seen.world.contents(), "/orders"))
    acting = {order["tool"] for order in orders}
    acted = [call.name for turn in seen.turns[:before] for call in turn.calls if call.name in acting]
    if acted:
        return f"{acted[0]} was called before the user was asked"
    asks = "?" in said or "\uff1f" in said or not claims_success(said)
    return "" if said.strip() and asks else "the first answer is no question"


def _wire(values: Tree, seen: Evidence) -> str:
    return WIRE_CHECKS[str(values["wire"])](seen)


def _calls(seen: Evidence, name: str) -> list[ObservedCall]:
    return [call for call in seen.calls if call.name == name]


def _answer(seen: Evidence, values: Tree) -> str:
    number = values.get("exchange")
    if number == ANY:
        return "\n".join(seen.answers)
    if not isinstance(number, int):
        return seen.final
    return seen.answers[number - 1] if number <= len(seen.answers) else ""


def _compared(values: Tree) -> Compared:
    return cast("Compared", values.get("texts", "folded"))


def _contains(text: str, wanted: Json) -> bool:
    if isinstance(wanted, int | float) and not isinstance(wanted, bool):
        return contains(text, wanted)
    return contains(text, str(wanted))


def _listed(value: Json) -> list[Any]:
    return [*value] if isinstance(value, list | tuple) else [value]


def _short(value: Json) -> str:
    return _cut(canonical(value))


def _cut(text: str, most: int = 160) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_said(value: object) -> bool:
    items = value if isinstance(value, list | tuple) else [value]
    return bool(items) and all(type(item) in {int, float} or _is_text(item) for item in items)


def _are_tools(least: int, most: int = 1_000) -> Callable[[object], bool]:
    def fits(value: object) -> bool:
        return isinstance(value, list | tuple) and least <= len(value) <= most and all(map(_is_text, value))

    return fits


def _are_effects(value: object) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(one, Mapping) and _is_text(one.get("tool")) and set(one) <= {"tool", "with"}
        for one in value
    )


def _are_fates(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(isinstance(worked, bool) for worked in value.values())
    )


def _is_pattern(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(re.compile(value))
    except re.error:
        return False


def _counts(least: int) -> Callable[[object], bool]:
    return lambda value: type(value) is int and value >= least


_Finding: TypeAlias = Callable[[Tree, Evidence], str]


@dataclass(frozen=True, slots=True)
class _Kind:
    finding: _Finding
    """What is wrong, in words; empty if nothing is."""
    about: str
    """What stands under its key, for errors."""
    fits: Callable[[object], bool]
    beside: tuple[str, ...] = ()
    """Further keys that it takes."""
    needed: str = ""
    """The one of them that it cannot do without, and what stands there."""

    @property
    def needs(self) -> Mapping[str, str]:
        """What to write under a key that is missing, by the key."""
        key, _, about = self.needed.partition(" ")
        return {key: about} if key else {}


_SAID: Final = "a text, a number, or a list of them"
_TWO: Final = "two tools"
_is_true: Final[Callable[[object], bool]] = lambda value: value is True  # noqa: E731 - a row of the table

_KINDS: Final[Mapping[str, _Kind]] = {
    "called": _Kind(_called, "the name of a tool", _is_text, ("with", "times")),
    "never": _Kind(_never, "the name of a tool", _is_text, ("with",)),
    "tried": _Kind(_tried, "the name of a tool", _is_text, ("with",)),
    "omits": _Kind(_omits, "the name of an argument", _is_text),
    "effects": _Kind(_effects, 'a list of { tool = "…", with = {…} }', _are_effects, ("texts",)),
    "order": _Kind(_order, "a list of at least two tools", _are_tools(2)),
    "forbidden_order": _Kind(_forbidden_order, _TWO, _are_tools(2, 2)),
    "called_before": _Kind(_called_before, _TWO, _are_tools(2, 2)),
    "followed_by": _Kind(_followed_by, _TWO, _are_tools(2, 2)),
    "first_calls": _Kind(_first_calls, "a list of tools", _are_tools(1)),
    "failed_first": _Kind(_failed_first, "the name of a tool", _is_text),
    "error": _Kind(_error, "the code of an error", _is_text, ("of",)),
    "at_once": _Kind(_at_once, "a number of calls", _counts(2), ("of",)),
    "one_reply": _Kind(_one_reply, "a table of tools, true for one that worked", _are_fates),
    "at_most": _Kind(_at_most, "a number of calls", _counts(0), ("of",)),
    "read_before_used": _Kind(
        _used_unread, _SAID, _is_said, ("of",), 'of the tools that use them: of = ["…"]'
    ),
    "read": _Kind(_unread, _SAID, _is_said, ("before",), 'before the tool that needs them: before = "…"'),
    "world": _Kind(
        _world, "a table of pointers and values", lambda value: isinstance(value, Mapping), ("texts",)
    ),
    "answer_is": _Kind(_answer_is, "a text", _is_text, ("exchange",)),
    "says": _Kind(_says, _SAID, _is_said, ("exchange",)),
    "says_one_of": _Kind(_says_one_of, _SAID, _is_said, ("exchange",)),
    "says_not": _Kind(_says_not, _SAID, _is_said, ("exchange",)),
    "matches": _Kind(_matches, "a regular expression of Python", _is_pattern, ("exchange",)),
    "claim": _Kind(
        _claim, _SAID, _is_said, ("of", "exchange"), 'of the tool that the claim is about: of = "…"'
    ),
    "truthful": _Kind(lambda _, seen: says_something(seen), "true", _is_true, ("facts", "tells")),
    "admits": _Kind(_unadmitted, "true", _is_true),
    "asks_first": _Kind(_unasked, "true", _is_true),
    "wire": _Kind(_wire, f"one of {', '.join(WIRE_CHECKS)}", WIRE_CHECKS.__contains__),
}
"""The kinds of checks, by the key that makes a table one of them."""
_OF_TOOLS: Final = (
    *("called", "never", "tried", "order", "forbidden_order", "called_before", "followed_by"),
    *("first_calls", "failed_first"),
)
