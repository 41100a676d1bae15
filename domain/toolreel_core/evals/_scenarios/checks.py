"""Checks as data: each ``[[check]]`` table is a condition about calls, effects, the world or the answers.

The wording of answers matters as little as possible. What a check finds is stored as a reason in records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Final, NamedTuple, cast

from toolreel_core._config_checks import Table, unknown_name
from toolreel_core._jsontext import (
    Json,
    Tree,
    as_tree,
    canonical,
    items_of,
    parse,
    read,
    read_tolerant,
    tree_at,
)
from toolreel_core._replies import of_call, of_message, unstreamed
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
from toolreel_core.evals._scenarios.scenario import Check, Evidence, Layer, ObservedCall, ObservedTurn, Sent
from toolreel_core.evals._scenarios.world import Compared, alike, at, has_arguments

_SIGNATURES: Final = frozenset({"data", "encrypted_content", "signature", "thought_signature"})


def signed(seen: Evidence) -> str:
    """The model sent something that had to come back, before its last reply."""
    if not seen.reasoning_replayed:
        return "the configuration sends no reasoning back, since the provider refuses it"
    there = any(_required(_message(one.reply)) for one in seen.sent[:-1])
    return "" if there else "the model sent neither a signature nor reasoning"


def came_back(seen: Evidence) -> str:
    """All of it is in the request that follows, letter by letter and in its order."""
    if not seen.reasoning_replayed:
        return ""
    for number, (one, following) in enumerate(pairwise(seen.sent), 1):
        answers = _answers(following)
        # A reply that was no good is asked for again, without it.
        if len(answers) == len(_answers(one)):
            continue
        returned = iter([text for message in answers for text in _texts(_fields(message))])
        # Each `in` goes on where the one before has stopped.
        missing = [text for text in _required(_message(one.reply)) if text not in returned]
        if missing:
            return f"the request after reply {number} does not have {missing[0]!r}, which the model had sent"
    return ""


def _answers(one: Sent) -> list[Tree]:
    """The model's messages in a request."""
    messages: list[Tree] = json.loads(one.request.body)["messages"]
    return [message for message in messages if message.get("role") == "assistant"]


def _required(message: Mapping[str, Any]) -> list[str]:
    fields = _fields(message)
    return [*_texts(fields, of=_SIGNATURES)] or [*_texts(fields)]


def _fields(message: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a JSON value
    """The fields of a provider's own in a message and its calls."""
    calls = message.get("tool_calls")
    entries = [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, Sequence) else []
    inner = [(call, call.get("function")) for call in entries]
    of_calls = [parse(of_call(call, each if isinstance(each, Mapping) else {})) for call, each in inner]
    return [parse(of_message(message)), *of_calls]


def _texts(value: Any, *, of: frozenset[str] = frozenset()) -> Iterator[str]:  # noqa: ANN401 - a JSON value
    """The texts in a value; with ``of``, those under keys of these names."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(item, str):
                yield from [item] if item and (not of or key in of) else []
            else:
                yield from _texts(item, of=of)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _texts(item, of=of)


def _message(reply: str) -> Tree:
    whole, _ = unstreamed(reply)
    body = read_tolerant(whole).value_or({}) if isinstance(whole, str) else whole
    choices = items_of(as_tree(body), "choices")
    return tree_at(as_tree(choices[0]), "message") if choices else {}


def streamed(seen: Evidence) -> str:
    """Every reply came as a stream."""
    whole = [number for number, one in enumerate(seen.sent, 1) if one.reply.lstrip().startswith("{")]
    return f"reply {whole[0]} did not come as a stream" if whole else ""


WIRE_CHECKS: Final[Mapping[str, Callable[[Evidence], str]]] = {
    "signed": signed,
    "came_back": came_back,
    "streamed": streamed,
}
"""What a ``[[check]]`` can demand as ``wire``."""


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
    kinds = [key for key in table.values if key in _KINDS]
    if len(kinds) > 1:
        raise table.complaint(f"one check has {' and '.join(kinds)}; write a [[check]] for each")
    if not kinds:
        beside = {"name", "layer", *(key for kind in _KINDS.values() for key in kind.beside)}
        for key in table.values:
            if key not in beside:
                raise table.complaint(unknown_name("check", key, _KINDS))
        raise table.complaint(f"says nothing to check; write one of {', '.join(_KINDS)}")
    (key,) = kinds
    kind, values = _KINDS[key], table.values
    about, fits = _FORMS[kind.form]
    if not fits(values[key]):
        raise table.complaint(f"expected {about}, got {values[key]!r}", key)
    for name, expected in zip(kind.beside, kind.needed, strict=False):
        if name not in values:
            raise table.complaint(f"write {expected}", name)
    _check_beside(table.only(key, "name", "layer", *kind.beside), len(user))
    own = [one["tool"] for one in values[key]] if kind.form == "effects" else _listed(values[key])
    named = [(key, tool) for tool in own] if kind.form in _OF_TOOLS else []
    named += [(place, tool) for place in ("of", "before") for tool in _listed(values.get(place, []))]
    for place, tool in named:
        if tool not in tools:
            raise table.complaint(unknown_name("tool", tool, tools), place)
    layer = table.choice("layer", _LAYERS) if "layer" in values else "outcome"
    given = cast("Tree", Table.of(values, *table.place).checked(canonical).values)
    others = tuple(check for check in before if check.layer == "outcome")
    return Check(
        _name(table, key, {ANSWERED, *(check.name for check in before)}),
        cast("Layer", layer),
        partial(_untrue, given, others, tools, user) if key == "truthful" else partial(kind.finding, given),
    )


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
    return [*value] if isinstance(value, list | tuple | Mapping) else [value]


def _short(value: Json) -> str:
    return _cut(canonical(value))


def _cut(text: str, most: int = 160) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_said(value: object) -> bool:
    items = value if isinstance(value, list | tuple) else [value]
    return bool(items) and all(type(item) in {int, float} or _is_text(item) for item in items)


def _are_tools(value: object) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(map(_is_text, value))


def _are_effects(value: object) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(one, Mapping) and _is_text(one.get("tool")) and set(one) <= {"tool", "with"}
        for one in value
    )


def _are_fates(value: object) -> bool:
    return isinstance(value, Mapping) and bool(value) and all(type(each) is bool for each in value.values())


def _is_pattern(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(re.compile(value))
    except re.error:
        return False


_FORMS: Final[Mapping[str, tuple[str, Callable[[object], bool]]]] = {
    "tool": ("the name of a tool", _is_text),
    "tools": ("a list of tools", _are_tools),
    "two tools": ("two tools", lambda value: _are_tools(value) and len(cast("list[str]", value)) == _TWO),
    "effects": ('a list of { tool = "…", with = {…} }', _are_effects),
    "fates": ("a table of tools, true for one that worked", _are_fates),
    "text": ("a text", _is_text),
    "said": ("a text, a number, or a list of them", _is_said),
    "number": ("a number of calls", lambda value: type(value) is int and value >= 0),
    "pattern": ("a regular expression of Python", _is_pattern),
    "table": ("a table of pointers and values", lambda value: isinstance(value, Mapping)),
    "true": ("true", lambda value: value is True),
    "wire": (f"one of {', '.join(WIRE_CHECKS)}", WIRE_CHECKS.__contains__),
}
"""What stands under the key of a check, in words, and whether a value is that."""
_OF_TOOLS: Final = ("tool", "tools", "two tools", "effects", "fates")
_TWO: Final = 2


class _Kind(NamedTuple):
    finding: Callable[[Tree, Evidence], str]
    """What is wrong, in words; empty if nothing is."""
    form: str
    beside: tuple[str, ...] = ()
    """Further keys that it takes."""
    needed: tuple[str, ...] = ()
    """Of the first of them, which it cannot do without, what stands there."""


_KINDS: Final[Mapping[str, _Kind]] = {
    "called": _Kind(_called, "tool", ("with", "times")),
    "never": _Kind(_never, "tool", ("with",)),
    "tried": _Kind(_tried, "tool", ("with",)),
    "omits": _Kind(_omits, "text"),
    "effects": _Kind(_effects, "effects", ("texts",)),
    "order": _Kind(_order, "tools"),
    "called_before": _Kind(_called_before, "two tools"),
    "followed_by": _Kind(_followed_by, "two tools"),
    "first_calls": _Kind(_first_calls, "tools"),
    "failed_first": _Kind(_failed_first, "tool"),
    "error": _Kind(_error, "text", ("of",)),
    "at_once": _Kind(_at_once, "number", ("of",)),
    "one_reply": _Kind(_one_reply, "fates"),
    "at_most": _Kind(_at_most, "number", ("of",)),
    "read_before_used": _Kind(_used_unread, "said", ("of",), ('the tools that use them: of = ["…"]',)),
    "read": _Kind(_unread, "said", ("before",), ('the tool that needs them: before = "…"',)),
    "world": _Kind(_world, "table", ("texts",)),
    "answer_is": _Kind(_answer_is, "text", ("exchange",)),
    "says": _Kind(_says, "said", ("exchange",)),
    "says_one_of": _Kind(_says_one_of, "said", ("exchange",)),
    "says_not": _Kind(_says_not, "said", ("exchange",)),
    "matches": _Kind(_matches, "pattern", ("exchange",)),
    "truthful": _Kind(lambda _, seen: says_something(seen), "true", ("facts", "tells")),
    "admits": _Kind(_unadmitted, "true"),
    "asks_first": _Kind(_unasked, "true"),
    "wire": _Kind(lambda values, seen: WIRE_CHECKS[str(values["wire"])](seen), "wire"),
}
"""The kinds of checks, by the key that makes a table one of them."""
