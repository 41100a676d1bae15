"""Calls of a run, and the calls that a test expects of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Final, Self, cast

from toolreel._driver import Run
from toolreel.cassette import ABSENT, first_change
from toolreel_core._conversation import AssistantMessage, SentCall, ToolMessage
from toolreel_core._jsontext import Json, canonical, read
from toolreel_core._protocol import Completed, Settled

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
    return tuple(_calls(run))


def listing(run: Run, marks: Mapping[int, str] | None = None) -> str:
    """The calls and the outcome of a run, one per line."""
    lines = [
        f"  {at + 1}. {_short(str(call))}  {', '.join(call.failed) or 'ok'}{(marks or {}).get(at, '')}"
        for at, call in enumerate(calls_made(run))
    ]
    return "\n".join(["what happened:", *(lines or ["  no calls"]), f"  {_outcome_line(run)}"])


def _format_arguments(arguments: Json) -> str:
    """Arguments in the notation of a call."""
    if not isinstance(arguments, Mapping):
        return canonical(arguments)
    return ", ".join(f"{name}={canonical(value)}" for name, value in arguments.items())


def _calls(run: Run) -> Iterator[CallMade]:
    messages = tuple(run.state.messages.messages)[len(run.state.plan.opening) :]
    for at, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            results = takewhile(lambda later: isinstance(later, ToolMessage), messages[at + 1 :])
            for call, result in zip(message.calls, results, strict=False):
                if not _is_final(run, call):
                    yield _made(run, call, cast("ToolMessage", result))


def _is_final(run: Run, call: SentCall) -> bool:
    """Whether a call is one of the final tool, which is no tool of the test's: its value is the outcome's."""
    plan = run.state.plan
    return plan.asked_by == "tool" and plan.output is not None and call.name == plan.output.name


def _made(run: Run, call: SentCall, result: ToolMessage) -> CallMade:
    name = run.state.plan.tools.inner(call.name)
    return CallMade(name, read(call.arguments).value_or(call.arguments), _codes(result))


def _codes(result: ToolMessage) -> tuple[str, ...]:
    match read(result.content).value_or(None):
        case {"ok": False, "errors": [*errors]}:
            return tuple(str(error["code"]) for error in errors if isinstance(error, Mapping))
        case _:
            return ()


def _outcome_line(run: Run) -> str:
    match run.state.phase:
        case Settled(outcome=Completed(content)):
            return f"completed: {_short(canonical(content))}"
        case Settled(outcome=outcome):
            return f"ended: {_short(repr(outcome))}"
        case phase:
            return f"rests: {type(phase).__name__}"


def _short(text: str) -> str:
    return text if len(text) <= _MAX_DISPLAY else text[:_MAX_DISPLAY] + "…"


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """A call that a test expects; create it with :func:`call`."""

    name: str
    arguments: Mapping[str, Json] = field(default_factory=dict)
    whole: bool = False
    """Whether other arguments are not allowed."""
    failing: str | bool | None = None
    """Whether the call must fail, or its error code; ``None`` accepts both."""

    def exactly(self) -> Self:
        """The same call, without other arguments."""
        return replace(self, whole=True)

    def that_worked(self) -> Self:
        """The same call, which must succeed."""
        return replace(self, failing=False)

    def that_failed(self, code: str | None = None) -> Self:
        """The same call, which must fail, with this code if given."""
        return replace(self, failing=True if code is None else code)

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
        return self._of_arguments(made) or self._of_result(made)

    def _of_arguments(self, made: CallMade) -> str:
        if not isinstance(made.arguments, Mapping):
            has_expectation = self.arguments or self.whole
            return f"expected arguments, got the text {made.arguments!r}" if has_expectation else ""
        for name, value in self.arguments.items():
            if name not in made.arguments:
                return f"{name}: expected {canonical(value)}, got {ABSENT}"
            change = first_change(_sorted(value), _sorted(made.arguments[name]), name)
            if change:
                return f"{change.place}: expected {change.old}, got {change.new}"
        more = [name for name in made.arguments if name not in self.arguments]
        return f"expected no other argument, got {', '.join(more)}" if self.whole and more else ""

    def _of_result(self, made: CallMade) -> str:
        match self.failing:
            case None:
                return ""
            case False:
                return f"expected it to work, it failed with {', '.join(made.failed)}" if made.failed else ""
            case True:
                return "" if made.failed else "expected it to fail, it worked"
            case code:
                got = ", ".join(made.failed) or "it worked"
                return "" if code in made.failed else f"expected it to fail with {code}, {got}"

    def __str__(self) -> str:
        """The call in one line; an ellipsis means other arguments.

        >>> print(call("add", a=1), call("add", a=1).exactly())
        add(a=1, …) add(a=1)
        """
        parts = [_format_arguments(self.arguments)] if self.arguments else []
        ends = {None: "", False: " that worked", True: " that failed"}
        end = f" that failed with {self.failing}" if isinstance(self.failing, str) else ends[self.failing]
        return f"{self.name}({', '.join([*parts, *([] if self.whole else ['…'])])}){end}"


def call(name: str, /, **arguments: Json) -> ExpectedCall:
    """A call of the tool with at least these arguments.

    >>> call("add", a=1).fits(CallMade("add", {"a": 1, "b": 2}))
    True
    >>> call("add", a=1).exactly().against(CallMade("add", {"a": 1, "b": 2}))
    'expected no other argument, got b'
    >>> call("add").that_worked().against(CallMade("add", {}, ("INTERNAL_ERROR",)))
    'expected it to work, it failed with INTERNAL_ERROR'
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


def _sorted(value: Json) -> Json:
    """The value with sorted keys, because their order is up to the model."""
    match value:
        case Mapping():
            return {key: _sorted(value[key]) for key in sorted(value)}
        case list():
            return [_sorted(item) for item in value]
        case _:
            return value
