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
from typing import Final, Self, TypeAlias, get_args

from toolreel._driver import Run
from toolreel._internal import counted
from toolreel.cassette import ABSENT, first_change
from toolreel_core._config_checks import unknown_name
from toolreel_core._conversation import AssistantMessage, ToolMessage
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, canonical, read
from toolreel_core._protocol import Completed, Note, Outcome, Settled, tag

_MAX_DISPLAY: Final = 100
"""Maximum length of a value in a listing."""


@dataclass(frozen=True, slots=True)
class CallMade:
    """A call of the model that has a result."""

    name: str
    """The inner name of the tool, or the unknown name that the model used."""
    arguments: Json
    """As the model wrote them; text if they were not JSON."""
    failed: tuple[str, ...] = ()
    """Error codes; empty if the call succeeded."""

    def __str__(self) -> str:
        """The call in one line.

        >>> print(CallMade("add", {"a": 1, "b": [2]}))
        add(a=1, b=[2])
        """
        return f"{self.name}({_format_arguments(self.arguments)})"


def calls_made(run: Run) -> tuple[CallMade, ...]:
    """The calls of a run with their results, in the order in which the model made them."""
    plan = run.state.plan
    messages = tuple(run.state.messages.messages)[len(plan.opening) :]
    # The final tool is not one of the test's: the value of its call is that of the outcome.
    final = plan.output.name if plan.output is not None and plan.asked_by == "tool" else None
    made: list[CallMade] = []
    for at, message in enumerate(messages):
        if not isinstance(message, AssistantMessage):
            continue
        for call, result in zip(message.calls, messages[at + 1 :], strict=False):
            if call.name != final and isinstance(result, ToolMessage):
                failed: tuple[str, ...] = ()
                match read(result.content).value_or(None):
                    case {"ok": False, "errors": [*errors]}:
                        failed = tuple(str(error["code"]) for error in errors if isinstance(error, Mapping))
                    case _:
                        pass
                arguments = read(call.arguments).value_or(call.arguments)
                made.append(CallMade(plan.tools.inner(call.name), arguments, failed))
    return tuple(made)


def listing(run: Run, marks: Mapping[int, str] | None = None) -> str:
    """The calls and the outcome of a run, one per line."""
    lines = [
        f"  {at + 1}. {_short_text(str(call))}  {', '.join(call.failed) or 'ok'}{(marks or {}).get(at, '')}"
        for at, call in enumerate(calls_made(run))
    ]
    return "\n".join(["what happened:", *(lines or ["  no calls"]), f"  {_outcome_line(run)}"])


def _format_arguments(arguments: Json) -> str:
    """Arguments in the notation of a call."""
    if not isinstance(arguments, Mapping):
        return canonical(arguments)
    return ", ".join(f"{name}={canonical(value)}" for name, value in arguments.items())


def _outcome_line(run: Run) -> str:
    match run.state.phase:
        case Settled(outcome=Completed(content)):
            return f"completed: {_short_text(canonical(content))}"
        case Settled(outcome=outcome):
            return f"ended: {_short_text(repr(outcome))}"
        case phase:
            return f"rests: {type(phase).__name__}"


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

    def with_arguments(self, arguments: Mapping[str, Json]) -> Self:
        """The same call with further arguments."""
        return replace(self, arguments={**self.arguments, **arguments})

    def fits(self, made: CallMade) -> bool:
        """Whether a call matches."""
        return made.name == self.name and not self.against(made)

    def against(self, made: CallMade) -> str:
        """Why a call does not match; empty if it does."""
        if made.name != self.name:
            return f"expected {self.name}, got {made.name}"
        if not isinstance(made.arguments, Mapping):
            has_expectation = self.arguments or self.whole
            return f"expected arguments, got the text {made.arguments!r}" if has_expectation else ""
        for name, value in self.arguments.items():
            if name not in made.arguments:
                return f"{name}: expected {canonical(value)}, got {ABSENT}"
            change = first_change(_with_sorted_keys(value), _with_sorted_keys(made.arguments[name]), name)
            if change:
                return f"{change.place}: expected {change.old}, got {change.new}"
        more = [name for name in made.arguments if name not in self.arguments]
        return f"expected no other argument, got {', '.join(more)}" if self.whole and more else ""

    def __str__(self) -> str:
        """The call in one line; an ellipsis means other arguments.

        >>> print(call("add", a=1), call("add", a=1).exactly())
        add(a=1, …) add(a=1)
        """
        parts = [_format_arguments(self.arguments)] if self.arguments else []
        return f"{self.name}({', '.join([*parts, *([] if self.whole else ['…'])])})"


def call(name: str, /, **arguments: Json) -> ExpectedCall:
    """A call of the tool with at least these arguments.

    >>> call("add", a=1).fits(CallMade("add", {"a": 1, "b": 2}))
    True
    >>> call("add", a=1).exactly().against(CallMade("add", {"a": 1, "b": 2}))
    'expected no other argument, got b'
    """
    return ExpectedCall(name, arguments)


def fits_in_order(expected: Sequence[ExpectedCall], made: Sequence[CallMade]) -> tuple[int, ...]:
    """Indexes of calls that match the expected ones in order, as many as there are.

    >>> fits_in_order([call("a"), call("b")], [CallMade("a", {}), CallMade("c", {}), CallMade("b", {})])
    (0, 2)
    """
    found: list[int] = []
    for at, one in enumerate(made):
        if len(found) < len(expected) and expected[len(found)].fits(one):
            found.append(at)
    return tuple(found)


def fits_in_any_order(expected: Sequence[ExpectedCall], made: Sequence[CallMade]) -> dict[int, int]:
    """A maximum matching of calls and expected calls, by index.

    A call that matches several expectations yields to one that matches nothing else:

    >>> fits_in_any_order([call("a"), call("a", n=1)], [CallMade("a", {"n": 1}), CallMade("a", {})])
    {0: 1, 1: 0}
    """
    matched: dict[int, int] = {}

    # Kuhn's algorithm: an expectation takes a call, and the former owner looks for another one.
    def place(number: int, tried: set[int]) -> bool:
        for at in (at for at, one in enumerate(made) if expected[number].fits(one) and at not in tried):
            tried.add(at)
            if at not in matched or place(matched[at], tried):
                matched[at] = number
                return True
        return False

    for number in range(len(expected)):
        place(number, set())
    return dict(sorted(matched.items()))


def _with_sorted_keys(value: Json) -> Json:
    """The value with sorted keys, because their order is up to the model."""
    match value:
        case Mapping():
            return {key: _with_sorted_keys(value[key]) for key in sorted(value)}
        case list():
            return [_with_sorted_keys(item) for item in value]
        case _:
            return value


Call: TypeAlias = str | ExpectedCall
"""An expected call: the name of a tool for any call of it, or a result of :func:`call`."""

_NOTES = {tag(kind): kind for kind in get_args(Note)}
_OUTCOMES: tuple[type[Outcome], ...] = get_args(Outcome)


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
        self._made = calls_made(run)
        self._after = 0

    # Calls.

    def called(self, name: Call, /, **arguments: Json) -> Self:
        """Assert that the tool was called with at least these arguments; ``then`` continues there."""
        __tracebackhide__ = True
        return self._after_call(_expected_call(name, arguments), 0)

    def then(self, name: Call, /, **arguments: Json) -> Self:
        """Like :meth:`called`, but after the call that ``called`` or ``then`` found."""
        __tracebackhide__ = True
        return self._after_call(_expected_call(name, arguments), self._after)

    def never_called(self, name: Call, /, **arguments: Json) -> Self:
        """Assert that there was no such call."""
        __tracebackhide__ = True
        expected = _expected_call(name, arguments)
        found = {at: "  <- here" for at, made in enumerate(self._made) if expected.fits(made)}
        if found:
            raise self._assertion_error(f"expected no call of {expected}", found)
        return self

    def calls(self, *expected: Call) -> Self:
        """Assert that these are all calls of the run, in this order."""
        __tracebackhide__ = True
        expected_calls = _expected_calls(expected)
        for at, (one, made) in enumerate(zip(expected_calls, self._made, strict=False)):
            if not one.fits(made):
                raise self._assertion_error(
                    f"expected call {at + 1} to be {one}\n  {one.against(made)}", {at: "  <- here"}
                )
        if len(expected_calls) != len(self._made):
            counted_calls = counted(len(expected_calls), "call")
            raise self._assertion_error(
                f"expected {counted_calls}, got {len(self._made)}: {_names_in_words(expected_calls)}"
            )
        return self

    def calls_in_order(self, *expected: Call) -> Self:
        """Assert that these calls happened in this order, perhaps with others between them."""
        __tracebackhide__ = True
        expected_calls = _expected_calls(expected)
        found = fits_in_order(expected_calls, self._made)
        if len(found) < len(expected_calls):
            marks = {at: f"  <- {number}" for number, at in enumerate(found, 1)}
            names = _names_in_words(expected_calls)
            missing = f"expected in this order: {names}\n  missing: {expected_calls[len(found)]}"
            raise self._assertion_error(missing + (f" after call {found[-1] + 1}" if found else ""), marks)
        return self

    def calls_in_any_order(self, *expected: Call) -> Self:
        """Assert that these are all calls of the run, in any order."""
        __tracebackhide__ = True
        expected_calls = _expected_calls(expected)
        pairs = fits_in_any_order(expected_calls, self._made)
        missing = [one for number, one in enumerate(expected_calls) if number not in pairs.values()]
        over = {at: "  <- not expected" for at in range(len(self._made)) if at not in pairs}
        if missing or over:
            message = f"expected in any order: {_names_in_words(expected_calls)}"
            raise self._assertion_error(
                message + (f"\n  missing: {_names_in_words(missing)}" if missing else ""), over
            )
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
        got = phase.outcome if isinstance(phase, Settled) else None
        if got is None or got.name != outcome or not _has_fields(got, fields):
            raise self._assertion_error(f"expected the run to end as {outcome}{_format_fields(fields)}")
        return self

    # Notes.

    def noted(self, note: str, /, **fields: object) -> Self:
        """Assert that the run has a note such as ``recovery_tried`` with at least these fields."""
        __tracebackhide__ = True
        if not self._matching_notes(note, fields):
            others = [repr(other) for other in self._matching_notes(note, {})] or ["none"]
            message = f"expected a note {note}{_format_fields(fields)}; of that name there are:"
            raise self._assertion_error("\n  ".join([message, *others]))
        return self

    def never_noted(self, note: str, /, **fields: object) -> Self:
        """Assert that the run has no such note."""
        __tracebackhide__ = True
        if found := self._matching_notes(note, fields):
            raise self._assertion_error(
                f"expected no note {note}{_format_fields(fields)}\n  there is: {found[0]!r}"
            )
        return self

    def _matching_notes(self, name: str, fields: dict[str, object]) -> list[Note]:
        if name not in _NOTES:
            raise ConfigError(unknown_name("note", name, _NOTES))
        kind = _NOTES[name]
        known = [*kind.__dataclass_fields__]
        for key in fields:
            if key not in known:
                raise ConfigError(unknown_name(f"field of {name}", key, known))
        return [note for note in self._run.notes if isinstance(note, kind) and _has_fields(note, fields)]

    def _after_call(self, expected: ExpectedCall, start: int) -> Self:
        __tracebackhide__ = True
        for at in range(start, len(self._made)):
            if expected.fits(self._made[at]):
                self._after = at + 1
                return self
        nearest = [at for at in range(start, len(self._made)) if self._made[at].name == expected.name]
        message = f"expected a call of {expected}" + (f" after call {start}" if start else "")
        for at in nearest[:1]:
            message += f"\n  nearest, call {at + 1}: {expected.against(self._made[at])}"
        raise self._assertion_error(message)

    def _assertion_error(self, text: str, marks: dict[int, str] | None = None) -> AssertionError:
        return AssertionError(f"{text}\n{listing(self._run, marks)}")


def _expected_call(name: Call, arguments: dict[str, Json]) -> ExpectedCall:
    return call(name, **arguments) if isinstance(name, str) else name.with_arguments(arguments)


def _expected_calls(expected: Sequence[Call]) -> list[ExpectedCall]:
    return [_expected_call(one, {}) for one in expected]


def _names_in_words(expected_calls: Sequence[ExpectedCall]) -> str:
    return ", ".join(map(str, expected_calls)) or "none"


def _has_fields(value: object, fields: dict[str, object]) -> bool:
    nothing = object()
    return all(getattr(value, name, nothing) == expected for name, expected in fields.items())


def _format_fields(fields: dict[str, object]) -> str:
    return f"({', '.join(f'{name}={value!r}' for name, value in fields.items())})" if fields else ""
