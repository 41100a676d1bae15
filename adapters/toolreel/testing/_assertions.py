"""Assertions about a run: which tools were called, with which arguments, in which order, and its outcome.

>>> from toolreel import Plan, Ports, PythonTools, run
>>> from toolreel.testing import ScriptedEndpoint, calling, saying
>>> def stock(part: str) -> int:
...     '''How many of a part are in stock.'''
...     return 4
>>> def order(part: str, number: int) -> str:
...     '''Order parts.'''
...     return "ordered"
>>> tools = PythonTools([stock, order])
>>> wants = [calling(("stock", {"part": "pin"})), calling(("order", {"part": "pin", "number": 6}))]
>>> endpoint = ScriptedEndpoint([*wants, saying("Done")])
>>> done = run(Plan.of(model="m", messages="…", tools=tools.surface), Ports(endpoint, tools))

Assertions are chained; the first that fails raises an :class:`AssertionError` that shows what happened:

>>> _ = assert_reel(done).called("stock").then("order", number=6).completed("Done")
>>> assert_reel(done).called("order", number=7)
Traceback (most recent call last):
    ...
AssertionError: expected a call of order(number=7, …)
  nearest, call 2: number: expected 7, got 6
what happened:
  1. stock(part="pin")  ok
  2. order(part="pin", number=6)  ok
  completed: "Done"
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, NamedTuple, Self, TypeAlias, get_args

from toolreel._driver import Run
from toolreel.cassette import first_change
from toolreel_core._config_checks import item_named
from toolreel_core._conversation import AssistantMessage, ToolMessage
from toolreel_core._jsontext import (
    Json,
    JsonText,
    as_tree,
    canonical,
    json_with_sorted_keys,
    list_at,
    parse,
    read_json,
)
from toolreel_core._protocol import Completed, Note, Outcome, Settled, type_name

_MAX_DISPLAY = 100
"""Maximum length of a value in a listing."""
_NOTES = {type_name(kind): kind for kind in get_args(Note)}
_OUTCOMES = {kind.name: kind for kind in get_args(Outcome)}


class _CallMade(NamedTuple):
    name: str
    """The inner name of the tool, or the unknown name that the model used."""
    arguments: Json
    """As the model wrote them; text if they were not JSON."""
    result: str
    """``ok``, or the codes of its errors."""


def _calls_made(run: Run) -> list[_CallMade]:
    plan = run.state.plan
    messages = tuple(run.state.messages.messages)[len(plan.opening) :]
    # The final tool is not one of the test's: the value of its call is that of the outcome.
    final = plan.output.name if plan.output is not None and plan.asked_by == "tool" else None
    made: list[_CallMade] = []
    for at, message in enumerate(messages):
        calls = message.calls if isinstance(message, AssistantMessage) else ()
        for call, result in zip(calls, messages[at + 1 :], strict=False):
            if call.name != final and isinstance(result, ToolMessage):
                arguments = read_json(call.arguments).value_or(call.arguments)
                envelope = as_tree(read_json(result.content).value_or(""))
                codes = [str(as_tree(error).get("code")) for error in list_at(envelope, "errors")]
                made.append(_CallMade(plan.tools.inner_name(call.name), arguments, ", ".join(codes) or "ok"))
    return made


def _call_text(name: str, arguments: Json, *more: str) -> str:
    if not isinstance(arguments, Mapping):
        return f"{name}({canonical(arguments)})"
    pairs = (f"{key}={canonical(value)}" for key, value in arguments.items())
    return f"{name}({', '.join((*pairs, *more))})"


def _short_text(text: str) -> str:
    return text if len(text) <= _MAX_DISPLAY else text[:_MAX_DISPLAY] + "…"


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """A call that a test expects; create it with :func:`call`."""

    name: str
    arguments: Mapping[str, Json] = field(default_factory=dict)
    whole: bool = False
    """Whether other arguments are not allowed."""

    def exactly(self) -> Self:
        """The same call, without other arguments."""
        return replace(self, whole=True)

    def mismatch(self, made: _CallMade) -> str:
        """Why a call does not match; empty if it does."""
        if made.name != self.name:
            return f"expected {self.name}, got {made.name}"
        given = made.arguments
        if not self.whole:
            if not self.arguments:
                return ""
            if isinstance(given, Mapping):
                given = {key: value for key, value in given.items() if key in self.arguments}
        expected, got = (parse(JsonText(json_with_sorted_keys(each))) for each in (self.arguments, given))
        change = first_change(expected, got)
        return f"{change.place or 'arguments'}: expected {change.old}, got {change.new}" if change else ""

    def __str__(self) -> str:
        """The call in one line; an ellipsis means other arguments.

        >>> print(call("add", a=1), call("add", a=1).exactly())
        add(a=1, …) add(a=1)
        """
        return _call_text(self.name, self.arguments, *([] if self.whole else ["…"]))


def call(name: str, /, **arguments: Json) -> ExpectedCall:
    """A call of the tool with at least these arguments."""
    return ExpectedCall(name, arguments)


CallMatcher: TypeAlias = str | ExpectedCall
"""An expected call: the name of a tool for any call of it, or a result of :func:`call`."""


def _expected_call(given: CallMatcher, /, **arguments: Json) -> ExpectedCall:
    expected = call(given) if isinstance(given, str) else given
    return replace(expected, arguments={**expected.arguments, **arguments})


def _match_calls(expected: Sequence[ExpectedCall], made: Sequence[_CallMade]) -> dict[int, int]:
    """For as many calls as can be, the index of an expected call, each of which stands for one call.

    Kuhn's algorithm: a call that several expectations want is yielded to one that wants no other.
    """
    matched: dict[int, int] = {}

    def place(number: int, tried: set[int]) -> bool:
        for at, one in enumerate(made):
            if at not in tried and not expected[number].mismatch(one):
                tried.add(at)
                if at not in matched or place(matched[at], tried):
                    matched[at] = number
                    return True
        return False

    for number in range(len(expected)):
        place(number, set())
    return matched


def assert_reel(run: Run) -> Claims:
    """Start a chain of assertions about a run, whether it has ended or waits."""
    return Claims(run)


class Claims:
    """Assertions about one run; each method returns the object for the next one.

    :raises AssertionError: from every method, if its assertion fails; the message shows what happened
    :raises ConfigError: from methods with the name of a note or an outcome, if it does not exist
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._made = _calls_made(run)
        self._after = 0

    # Calls.

    def called(self, name: CallMatcher, /, **arguments: Json) -> Self:
        """Assert that the tool was called with at least these arguments; ``then`` continues there."""
        __tracebackhide__ = True
        self._after = 0
        return self.then(name, **arguments)

    def then(self, name: CallMatcher, /, **arguments: Json) -> Self:
        """Like :meth:`called`, but after the call that ``called`` or ``then`` found."""
        __tracebackhide__ = True
        expected = _expected_call(name, **arguments)
        message = f"expected a call of {expected}" + (f" after call {self._after}" if self._after else "")
        nearest = ""
        for at, made in enumerate(self._made[self._after :], self._after + 1):
            why = expected.mismatch(made)
            if not why:
                self._after = at
                return self
            if made.name == expected.name and not nearest:
                nearest = f"\n  nearest, call {at}: {why}"
        raise self._assertion_error(message + nearest)

    def never_called(self, name: CallMatcher, /, **arguments: Json) -> Self:
        """Assert that there was no such call."""
        __tracebackhide__ = True
        expected = _expected_call(name, **arguments)
        for at, made in enumerate(self._made, 1):
            self._require(expected.mismatch(made), f"expected no call of {expected}, and call {at} is one")
        return self

    def calls(self, *expected: CallMatcher) -> Self:
        """Assert that these are all calls of the run, in this order."""
        __tracebackhide__ = True
        for at, (given, made) in enumerate(zip_longest(expected, self._made), 1):
            one = None if given is None else _expected_call(given)
            why = one.mismatch(made) if one and made else "one is missing"
            self._require(not why, f"expected call {at} to be {one or 'none'}\n  {why}")
        return self

    def calls_in_order(self, *expected: CallMatcher) -> Self:
        """Assert that these calls happened in this order, perhaps with others between them."""
        __tracebackhide__ = True
        left = [_expected_call(each) for each in expected]
        for made in self._made:
            if left and not left[0].mismatch(made):
                del left[0]
        return self._require(not left, f"expected in this order, and not found: {_comma_separated(left)}")

    def calls_in_any_order(self, *expected: CallMatcher) -> Self:
        """Assert that these are all calls of the run, in any order."""
        __tracebackhide__ = True
        calls = [_expected_call(each) for each in expected]
        matched = _match_calls(calls, self._made)
        missing = [one for number, one in enumerate(calls) if number not in matched.values()]
        over = [_call_text(*made[:2]) for at, made in enumerate(self._made) if at not in matched]
        return self._require(
            not missing and not over,
            f"expected in any order: {_comma_separated(calls)}\n"
            f"  missing: {_comma_separated(missing)}\n  not expected: {_comma_separated(over)}",
        )

    # The end.

    def completed(self, content: str | None = None) -> Self:
        """Assert that the model gave a final answer; with ``content``, exactly this one."""
        __tracebackhide__ = True
        return self.ended(Completed.name, **({} if content is None else {"content": content}))

    def ended(self, outcome: str, /, **fields: object) -> Self:
        """Assert that the run ended with this outcome and at least these fields."""
        __tracebackhide__ = True
        reached = _items_with_name_and_fields(
            "outcome", outcome, _OUTCOMES, [self._run.state.outcome], fields
        )
        return self._require(reached, f"expected the run to end as {_name_and_fields_text(outcome, fields)}")

    # Notes.

    def noted(self, note: str, /, **fields: object) -> Self:
        """Assert that the run has a note such as ``recovery_tried`` with at least these fields."""
        __tracebackhide__ = True
        found = _items_with_name_and_fields("note", note, _NOTES, self._run.notes, fields)
        same = _items_with_name_and_fields("note", note, _NOTES, self._run.notes, {})
        listed = "\n  ".join(map(str, same)) or "none"
        return self._require(
            found,
            f"expected a note {_name_and_fields_text(note, fields)}; of that name there are:\n  {listed}",
        )

    def never_noted(self, note: str, /, **fields: object) -> Self:
        """Assert that the run has no such note."""
        __tracebackhide__ = True
        found = _items_with_name_and_fields("note", note, _NOTES, self._run.notes, fields)
        return self._require(
            not found,
            f"expected no note {_name_and_fields_text(note, fields)}\n  there is: {_comma_separated(found)}",
        )

    def _require(self, holds: object, text: str) -> Self:
        __tracebackhide__ = True
        if not holds:
            raise self._assertion_error(text)
        return self

    def _assertion_error(self, text: str) -> AssertionError:
        lines = [text, "what happened:"]
        for at, (name, arguments, result) in enumerate(self._made, 1):
            lines.append(f"  {at}. {_short_text(_call_text(name, arguments))}  {result}")
        lines += [] if self._made else ["  no calls"]
        match self._run.state.phase:
            case Settled(outcome=Completed(content)):
                end = f"completed: {_short_text(canonical(content))}"
            case Settled(outcome=outcome):
                end = f"ended: {_short_text(repr(outcome))}"
            case phase:
                end = f"rests: {type(phase).__name__}"
        return AssertionError("\n".join([*lines, f"  {end}"]))


def _items_with_name_and_fields(
    what: str, name: str, kinds: Mapping[str, Any], values: Iterable[object], fields: Mapping[str, object]
) -> list[object]:
    """The values of the kind with a name that have these fields."""
    kind = item_named(what, name, kinds)
    for key in fields:
        item_named(f"field of {name}", key, kind.__dataclass_fields__)
    return [
        value
        for value in values
        if isinstance(value, kind) and all(getattr(value, key) == each for key, each in fields.items())
    ]


def _comma_separated(values: Sequence[object]) -> str:
    return ", ".join(map(str, values)) or "none"


def _name_and_fields_text(name: str, fields: Mapping[str, object]) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in fields.items())})"
