"""Claims about a run, for tests: which tools were called, how, in which order, and how it ended.

>>> from toolreel import Ports, PythonTools, ScriptedEndpoint, run
>>> from toolreel.testing._scripted import calling, saying
>>> from toolreel_core import Plan
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

Claims are chained, and the first that does not hold raises an :class:`AssertionError` that shows what
happened:

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

from toolreel._driver.run import Run
from toolreel.testing._calls import ExpectedCall, call, calls_made, fits_in_any_order, fits_in_order, listing
from toolreel_core._errors import ConfigError
from toolreel_core._internal.suggestions import unknown_name
from toolreel_core._jsontext.canonical import Json
from toolreel_core._protocol.codec import tag
from toolreel_core._protocol.notes import Note
from toolreel_core._protocol.outcome import Completed, Outcome
from toolreel_core._protocol.state import Settled

__all__ = ["Claims", "assert_reel"]

Call: TypeAlias = str | ExpectedCall
"""A call that is expected: a tool's name for any call of it, or what :func:`call` makes."""

_NOTES = {tag(kind): kind for kind in get_args(Note)}
_OUTCOMES: tuple[type[Outcome], ...] = get_args(Outcome)


def assert_reel(run: Run) -> Claims:
    """Begin to make claims about a run, be it over or at rest."""
    return Claims(run)


class Claims:
    """Claims about one run; each method checks one and gives the same object back for the next.

    :raises AssertionError: from every method whose claim does not hold; the text shows what happened
    :raises ConfigError: from those that take the name of a note or an outcome, if there is none of that name
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._made = calls_made(run)
        self._after = 0

    # Calls.

    def called(self, name: Call, /, **arguments: Json) -> Self:
        """Somewhere in the run, the tool was called with at least these arguments; ``then`` goes on there."""
        __tracebackhide__ = True
        return self._found(_expected(name, arguments), 0)

    def then(self, name: Call, /, **arguments: Json) -> Self:
        """The same, later than the call that ``called`` or ``then`` has found before."""
        __tracebackhide__ = True
        return self._found(_expected(name, arguments), self._after)

    def never_called(self, name: Call, /, **arguments: Json) -> Self:
        """No call of the run is like this."""
        __tracebackhide__ = True
        expected = _expected(name, arguments)
        found = {at: "  <- here" for at, made in enumerate(self._made) if expected.fits(made)}
        if found:
            raise self._wrong(f"expected no call of {expected}", found)
        return self

    def calls(self, *expected: Call) -> Self:
        """These are all calls of the run, in this order."""
        __tracebackhide__ = True
        wanted = _all(expected)
        for at, (one, made) in enumerate(zip(wanted, self._made, strict=False)):
            if not one.fits(made):
                raise self._wrong(
                    f"expected call {at + 1} to be {one}\n  {one.against(made)}", {at: "  <- here"}
                )
        if len(wanted) != len(self._made):
            raise self._wrong(f"expected {_number(wanted)}, got {len(self._made)}: {_named(wanted)}")
        return self

    def calls_in_order(self, *expected: Call) -> Self:
        """These calls are part of the run, in this order; there may be others between them."""
        __tracebackhide__ = True
        wanted = _all(expected)
        found = fits_in_order(wanted, self._made)
        if len(found) < len(wanted):
            marks = {at: f"  <- {number}" for number, at in enumerate(found, 1)}
            missing = f"expected in this order: {_named(wanted)}\n  missing: {wanted[len(found)]}"
            raise self._wrong(missing + (f" after call {found[-1] + 1}" if found else ""), marks)
        return self

    def calls_in_any_order(self, *expected: Call) -> Self:
        """These are all calls of the run, each as often as it is named here, in whatever order."""
        __tracebackhide__ = True
        wanted = _all(expected)
        pairs = fits_in_any_order(wanted, self._made)
        missing = [one for number, one in enumerate(wanted) if number not in pairs.values()]
        over = {at: "  <- not expected" for at in range(len(self._made)) if at not in pairs}
        if missing or over:
            told = f"expected in any order: {_named(wanted)}"
            raise self._wrong(told + (f"\n  missing: {_named(missing)}" if missing else ""), over)
        return self

    # The end.

    def completed(self, content: str | None = None) -> Self:
        """The model gave a final answer, and if a text is given, exactly this one."""
        __tracebackhide__ = True
        return self.ended(Completed.name, **({} if content is None else {"content": content}))

    def ended(self, outcome: str, /, **fields: object) -> Self:
        """The run ended in the outcome of this name, with at least these fields."""
        __tracebackhide__ = True
        if outcome not in (names := [kind.name for kind in _OUTCOMES]):
            raise ConfigError(unknown_name("outcome", outcome, names))
        phase = self._run.state.phase
        got = phase.outcome if isinstance(phase, Settled) else None
        if got is None or got.name != outcome or not _has(got, fields):
            raise self._wrong(f"expected the run to end as {outcome}{_shown(fields)}")
        return self

    # Notes.

    def noted(self, note: str, /, **fields: object) -> Self:
        """The run has a note of this name, such as ``recovery_tried``, with at least these fields."""
        __tracebackhide__ = True
        if not self._notes(note, fields):
            others = [repr(other) for other in self._notes(note, {})] or ["none"]
            told = f"expected a note {note}{_shown(fields)}; of that name there are:"
            raise self._wrong("\n  ".join([told, *others]))
        return self

    def never_noted(self, note: str, /, **fields: object) -> Self:
        """The run has no such note."""
        __tracebackhide__ = True
        if found := self._notes(note, fields):
            raise self._wrong(f"expected no note {note}{_shown(fields)}\n  there is: {found[0]!r}")
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
        told = f"expected a call of {expected}" + (f" after call {start}" if start else "")
        for at in nearest[:1]:
            told += f"\n  nearest, call {at + 1}: {expected.against(self._made[at])}"
        raise self._wrong(told)

    def _wrong(self, text: str, marks: dict[int, str] | None = None) -> AssertionError:
        return AssertionError(f"{text}\n{listing(self._run, marks)}")


def _expected(name: Call, arguments: dict[str, Json]) -> ExpectedCall:
    return call(name, **arguments) if isinstance(name, str) else name.with_arguments(arguments)


def _all(expected: Sequence[Call]) -> list[ExpectedCall]:
    return [_expected(one, {}) for one in expected]


def _number(wanted: Sequence[object]) -> str:
    return "1 call" if len(wanted) == 1 else f"{len(wanted)} calls"


def _named(wanted: Sequence[ExpectedCall]) -> str:
    return ", ".join(map(str, wanted)) or "none"


def _has(value: object, fields: dict[str, object]) -> bool:
    nothing = object()
    return all(getattr(value, name, nothing) == wanted for name, wanted in fields.items())


def _shown(fields: dict[str, object]) -> str:
    return f"({', '.join(f'{name}={value!r}' for name, value in fields.items())})" if fields else ""
