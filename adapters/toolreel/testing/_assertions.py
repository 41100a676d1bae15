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

from collections.abc import Sequence
from typing import Self, TypeAlias, get_args

from toolreel._driver import Run
from toolreel.testing._expected_calls import (
    ExpectedCall,
    call,
    calls_made,
    fits_in_any_order,
    fits_in_order,
    listing,
)
from toolreel_core._errors import ConfigError
from toolreel_core._internal import unknown_name
from toolreel_core._jsontext import Json
from toolreel_core._protocol import Completed, Note, Outcome, Settled, tag

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
        return self._found(_expected(name, arguments), 0)

    def then(self, name: Call, /, **arguments: Json) -> Self:
        """Like :meth:`called`, but after the call that ``called`` or ``then`` found."""
        __tracebackhide__ = True
        return self._found(_expected(name, arguments), self._after)

    def never_called(self, name: Call, /, **arguments: Json) -> Self:
        """Assert that there was no such call."""
        __tracebackhide__ = True
        expected = _expected(name, arguments)
        found = {at: "  <- here" for at, made in enumerate(self._made) if expected.fits(made)}
        if found:
            raise self._error(f"expected no call of {expected}", found)
        return self

    def calls(self, *expected: Call) -> Self:
        """Assert that these are all calls of the run, in this order."""
        __tracebackhide__ = True
        expected_calls = _all(expected)
        for at, (one, made) in enumerate(zip(expected_calls, self._made, strict=False)):
            if not one.fits(made):
                raise self._error(
                    f"expected call {at + 1} to be {one}\n  {one.against(made)}", {at: "  <- here"}
                )
        if len(expected_calls) != len(self._made):
            raise self._error(
                f"expected {_number(expected_calls)}, got {len(self._made)}: {_named(expected_calls)}"
            )
        return self

    def calls_in_order(self, *expected: Call) -> Self:
        """Assert that these calls happened in this order, perhaps with others between them."""
        __tracebackhide__ = True
        expected_calls = _all(expected)
        found = fits_in_order(expected_calls, self._made)
        if len(found) < len(expected_calls):
            marks = {at: f"  <- {number}" for number, at in enumerate(found, 1)}
            missing = (
                f"expected in this order: {_named(expected_calls)}\n  missing: {expected_calls[len(found)]}"
            )
            raise self._error(missing + (f" after call {found[-1] + 1}" if found else ""), marks)
        return self

    def calls_in_any_order(self, *expected: Call) -> Self:
        """Assert that these are all calls of the run, in any order."""
        __tracebackhide__ = True
        expected_calls = _all(expected)
        pairs = fits_in_any_order(expected_calls, self._made)
        missing = [one for number, one in enumerate(expected_calls) if number not in pairs.values()]
        over = {at: "  <- not expected" for at in range(len(self._made)) if at not in pairs}
        if missing or over:
            message = f"expected in any order: {_named(expected_calls)}"
            raise self._error(message + (f"\n  missing: {_named(missing)}" if missing else ""), over)
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
        if got is None or got.name != outcome or not _has(got, fields):
            raise self._error(f"expected the run to end as {outcome}{_formatted(fields)}")
        return self

    # Notes.

    def noted(self, note: str, /, **fields: object) -> Self:
        """Assert that the run has a note such as ``recovery_tried`` with at least these fields."""
        __tracebackhide__ = True
        if not self._notes(note, fields):
            others = [repr(other) for other in self._notes(note, {})] or ["none"]
            message = f"expected a note {note}{_formatted(fields)}; of that name there are:"
            raise self._error("\n  ".join([message, *others]))
        return self

    def never_noted(self, note: str, /, **fields: object) -> Self:
        """Assert that the run has no such note."""
        __tracebackhide__ = True
        if found := self._notes(note, fields):
            raise self._error(f"expected no note {note}{_formatted(fields)}\n  there is: {found[0]!r}")
        return self

    def _notes(self, name: str, fields: dict[str, object]) -> list[Note]:
        if name not in _NOTES:
            raise ConfigError(unknown_name("note", name, _NOTES))
        kind = _NOTES[name]
        for field in fields:
            if field not in (known := [*kind.__dataclass_fields__]):
                raise ConfigError(unknown_name(f"field of {name}", field, known))
        return [note for note in self._run.notes if isinstance(note, kind) and _has(note, fields)]

    def _found(self, expected: ExpectedCall, start: int) -> Self:
        __tracebackhide__ = True
        for at in range(start, len(self._made)):
            if expected.fits(self._made[at]):
                self._after = at + 1
                return self
        nearest = [at for at in range(start, len(self._made)) if self._made[at].name == expected.name]
        message = f"expected a call of {expected}" + (f" after call {start}" if start else "")
        for at in nearest[:1]:
            message += f"\n  nearest, call {at + 1}: {expected.against(self._made[at])}"
        raise self._error(message)

    def _error(self, text: str, marks: dict[int, str] | None = None) -> AssertionError:
        return AssertionError(f"{text}\n{listing(self._run, marks)}")


def _expected(name: Call, arguments: dict[str, Json]) -> ExpectedCall:
    return call(name, **arguments) if isinstance(name, str) else name.with_arguments(arguments)


def _all(expected: Sequence[Call]) -> list[ExpectedCall]:
    return [_expected(one, {}) for one in expected]


def _number(expected_calls: Sequence[object]) -> str:
    return "1 call" if len(expected_calls) == 1 else f"{len(expected_calls)} calls"


def _named(expected_calls: Sequence[ExpectedCall]) -> str:
    return ", ".join(map(str, expected_calls)) or "none"


def _has(value: object, fields: dict[str, object]) -> bool:
    nothing = object()
    return all(getattr(value, name, nothing) == expected for name, expected in fields.items())


def _formatted(fields: dict[str, object]) -> str:
    return f"({', '.join(f'{name}={value!r}' for name, value in fields.items())})" if fields else ""
