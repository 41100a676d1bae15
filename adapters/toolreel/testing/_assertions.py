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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Final, NamedTuple, Self, TypeAlias, get_args

from toolreel._driver import Run
from toolreel.cassette import ABSENT, first_change
from toolreel_core._config_checks import unknown_name
from toolreel_core._conversation import AssistantMessage, ToolMessage
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, canonical, read
from toolreel_core._protocol import Completed, Note, Outcome, Settled, type_name

_MAX_DISPLAY: Final = 100
"""Maximum length of a value in a listing."""
_NOTES: Final = {type_name(kind): kind for kind in get_args(Note)}
_OUTCOMES: Final[tuple[type[Outcome], ...]] = get_args(Outcome)


class _CallMade(NamedTuple):
    """A call of the model that has a result."""

    name: str
    """The inner name of the tool, or the unknown name that the model used."""
    arguments: Json
    """As the model wrote them; text if they were not JSON."""
    codes: tuple[str, ...]
    """Of its errors; empty if the call succeeded."""


def _calls_made(run: Run) -> list[_CallMade]:
    """The calls of a run with their results, in the order in which the model made them."""
    plan = run.state.plan
    messages = tuple(run.state.messages.messages)[len(plan.opening) :]
    # The final tool is not one of the test's: the value of its call is that of the outcome.
    final = plan.output.name if plan.output is not None and plan.asked_by == "tool" else None
    made: list[_CallMade] = []
    for at, message in enumerate(messages):
        calls = message.calls if isinstance(message, AssistantMessage) else ()
        for call, result in zip(calls, messages[at + 1 :], strict=False):
            if call.name != final and isinstance(result, ToolMessage):
                arguments = read(call.arguments).value_or(call.arguments)
                made.append(
                    _CallMade(plan.tools.inner_name(call.name), arguments, _error_codes(result.content))
                )
    return made


def _error_codes(result: str) -> tuple[str, ...]:
    match read(result).value_or(None):
        case {"ok": False, "errors": [*errors]}:
            return tuple(str(error["code"]) for error in errors if isinstance(error, Mapping))
        case _:
            return ()


def _call_text(name: str, arguments: Json, *more: str) -> str:
    if not isinstance(arguments, Mapping):
        return f"{name}({canonical(arguments)})"
    pairs = (f"{key}={canonical(value)}" for key, value in arguments.items())
    return f"{name}({', '.join((*pairs, *more))})"


def _short_text(text: str) -> str:
    return text if len(text) <= _MAX_DISPLAY else text[:_MAX_DISPLAY] + "…"


def _outcome_line(run: Run) -> str:
    match run.state.phase:
        case Settled(outcome=Completed(content)):
            return f"completed: {_short_text(canonical(content))}"
        case Settled(outcome=outcome):
            return f"ended: {_short_text(repr(outcome))}"
        case phase:
            return f"rests: {type(phase).__name__}"


def _with_sorted_keys(value: Json) -> Json:
    """The value with sorted keys, because their order is up to the model."""
    match value:
        case Mapping():
            return {key: _with_sorted_keys(value[key]) for key in sorted(value)}
        case list():
            return [_with_sorted_keys(item) for item in value]
        case _:
            return value


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

    def mismatch(self, made: tuple[str, Json, object]) -> str:
        """Why a call of this name and these arguments does not match; empty if it does."""
        name, given, _ = made
        if name != self.name:
            return f"expected {self.name}, got {name}"
        if not isinstance(given, Mapping):
            return f"expected arguments, got the text {given!r}" if self.arguments or self.whole else ""
        for key, value in self.arguments.items():
            if key not in given:
                return f"{key}: expected {canonical(value)}, got {ABSENT}"
            if change := first_change(_with_sorted_keys(value), _with_sorted_keys(given[key]), key):
                return f"{change.place}: expected {change.old}, got {change.new}"
        more = [key for key in given if key not in self.arguments]
        return f"expected no other argument, got {', '.join(more)}" if self.whole and more else ""

    def __str__(self) -> str:
        """The call in one line; an ellipsis means other arguments.

        >>> print(call("add", a=1), call("add", a=1).exactly())
        add(a=1, …) add(a=1)
        """
        return _call_text(self.name, self.arguments, *([] if self.whole else ["…"]))


def call(name: str, /, **arguments: Json) -> ExpectedCall:
    """A call of the tool with at least these arguments."""
    return ExpectedCall(name, arguments)


Call: TypeAlias = str | ExpectedCall
"""An expected call: the name of a tool for any call of it, or a result of :func:`call`."""


def _expected_call(given: Call, arguments: Mapping[str, Json]) -> ExpectedCall:
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

    def called(self, name: Call, /, **arguments: Json) -> Self:
        """Assert that the tool was called with at least these arguments; ``then`` continues there."""
        __tracebackhide__ = True
        self._after = 0
        return self.then(name, **arguments)

    def then(self, name: Call, /, **arguments: Json) -> Self:
        """Like :meth:`called`, but after the call that ``called`` or ``then`` found."""
        __tracebackhide__ = True
        expected, start = _expected_call(name, arguments), self._after
        for at, made in enumerate(self._made[start:], start + 1):
            if not expected.mismatch(made):
                self._after = at
                return self
        message = f"expected a call of {expected}" + (f" after call {start}" if start else "")
        for at, made in enumerate(self._made[start:], start + 1):
            if made.name == expected.name:
                message += f"\n  nearest, call {at}: {expected.mismatch(made)}"
                break
        raise self._failure(message)

    def never_called(self, name: Call, /, **arguments: Json) -> Self:
        """Assert that there was no such call."""
        __tracebackhide__ = True
        expected = _expected_call(name, arguments)
        if found := [at for at, made in enumerate(self._made) if not expected.mismatch(made)]:
            raise self._failure(f"expected no call of {expected}", dict.fromkeys(found, "here"))
        return self

    def calls(self, *expected: Call) -> Self:
        """Assert that these are all calls of the run, in this order."""
        __tracebackhide__ = True
        for at, (given, made) in enumerate(zip_longest(expected, self._made)):
            wanted = "none" if given is None else _expected_call(given, {})
            if made is None or isinstance(wanted, str) or wanted.mismatch(made):
                why = "" if made is None or isinstance(wanted, str) else f"\n  {wanted.mismatch(made)}"
                raise self._failure(f"expected call {at + 1} to be {wanted}{why}", {at: "here"})
        return self

    def calls_in_order(self, *expected: Call) -> Self:
        """Assert that these calls happened in this order, perhaps with others between them."""
        __tracebackhide__ = True
        found: dict[int, str] = {}
        left = [_expected_call(each, {}) for each in expected]
        for at, made in enumerate(self._made):
            if left and not left[0].mismatch(made):
                found[at] = str(left.pop(0))
        if left:
            raise self._failure(f"expected in this order, and not found: {_calls_in_words(left)}", found)
        return self

    def calls_in_any_order(self, *expected: Call) -> Self:
        """Assert that these are all calls of the run, in any order."""
        __tracebackhide__ = True
        wanted = [_expected_call(each, {}) for each in expected]
        matched = _match_calls(wanted, self._made)
        missing = [one for number, one in enumerate(wanted) if number not in matched.values()]
        over = [at for at in range(len(self._made)) if at not in matched]
        if missing or over:
            message = (
                f"expected in any order: {_calls_in_words(wanted)}\n  missing: {_calls_in_words(missing)}"
            )
            raise self._failure(message, dict.fromkeys(over, "not expected"))
        return self

    # The end.

    def completed(self, content: str | None = None) -> Self:
        """Assert that the model gave a final answer; with ``content``, exactly this one."""
        __tracebackhide__ = True
        return self.ended(Completed.name, **({} if content is None else {"content": content}))

    def ended(self, outcome: str, /, **fields: object) -> Self:
        """Assert that the run ended with this outcome and at least these fields."""
        __tracebackhide__ = True
        if outcome not in (names := [kind.name for kind in _OUTCOMES]):
            raise ConfigError(unknown_name("outcome", outcome, names))
        phase = self._run.state.phase
        if not (
            isinstance(phase, Settled)
            and phase.outcome.name == outcome
            and _has_fields(phase.outcome, fields)
        ):
            raise self._failure(f"expected the run to end as {_with_fields(outcome, fields)}")
        return self

    # Notes.

    def noted(self, note: str, /, **fields: object) -> Self:
        """Assert that the run has a note such as ``recovery_tried`` with at least these fields."""
        __tracebackhide__ = True
        same = self._notes_named(note, fields)
        if not any(_has_fields(each, fields) for each in same):
            message = f"expected a note {_with_fields(note, fields)}; of that name there are:"
            raise self._failure("\n  ".join([message, *([*map(repr, same)] or ["none"])]))
        return self

    def never_noted(self, note: str, /, **fields: object) -> Self:
        """Assert that the run has no such note."""
        __tracebackhide__ = True
        for each in self._notes_named(note, fields):
            if _has_fields(each, fields):
                raise self._failure(f"expected no note {_with_fields(note, fields)}\n  there is: {each!r}")
        return self

    def _notes_named(self, name: str, fields: Mapping[str, object]) -> list[Note]:
        """The notes of a name, which has these fields."""
        if name not in _NOTES:
            raise ConfigError(unknown_name("note", name, _NOTES))
        known = [*_NOTES[name].__dataclass_fields__]
        for key in fields:
            if key not in known:
                raise ConfigError(unknown_name(f"field of {name}", key, known))
        return [note for note in self._run.notes if isinstance(note, _NOTES[name])]

    def _failure(self, text: str, marks: Mapping[int, str] | None = None) -> AssertionError:
        """The error, with all calls, of which some are marked, and the end of the run."""
        lines = [text, "what happened:"]
        for at, made in enumerate(self._made):
            mark = f"  <- {marks[at]}" if marks and at in marks else ""
            shown = _short_text(_call_text(made.name, made.arguments))
            lines.append(f"  {at + 1}. {shown}  {', '.join(made.codes) or 'ok'}{mark}")
        lines += [] if self._made else ["  no calls"]
        return AssertionError("\n".join([*lines, f"  {_outcome_line(self._run)}"]))


def _calls_in_words(calls: Sequence[ExpectedCall]) -> str:
    return ", ".join(map(str, calls)) or "none"


def _has_fields(value: object, fields: Mapping[str, object]) -> bool:
    nothing = object()
    return all(getattr(value, name, nothing) == expected for name, expected in fields.items())


def _with_fields(name: str, fields: Mapping[str, object]) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in fields.items())})"
