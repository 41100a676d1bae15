"""Approvers of an agent: a function of name and arguments, an approver, or a decision that is there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import isawaitable, iscoroutinefunction, signature
from typing import Any, TypeAlias, cast

from toolreel._driver import Approver, AsyncApprover, AsyncLater, Later
from toolreel.tools import awaited, in_thread
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import parse
from toolreel_core._protocol import ApprovalGiven, AskApproval

Decision: TypeAlias = bool | str | None
"""``True`` approves, ``False`` or a reason denies, ``None`` leaves the run at rest."""

Approve: TypeAlias = (
    Callable[[str, Mapping[str, Any]], Decision | Awaitable[Decision]] | Approver | AsyncApprover
)
"""A function that gets the name and the arguments of a call, or an approver."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Asks a function."""

    function: Callable[[str, Mapping[str, Any]], object]

    def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        """What the function says.

        :raises ConfigError: if it is async, or says something else than a decision
        """
        said = self.function(effect.name, _arguments(effect))
        if isawaitable(said):
            cast("Any", said).close()
            raise ConfigError("approve: the function is async; write await agent.arun(...)")
        return _given(effect, said)


@dataclass(frozen=True, slots=True)
class AsyncAsked:
    """Asks a function, in a thread where it blocks."""

    function: Callable[[str, Mapping[str, Any]], object]

    async def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        """What the function says.

        :raises ConfigError: if it says something else than a decision
        """
        ask = partial(self.function, effect.name, _arguments(effect))
        said = ask() if iscoroutinefunction(self.function) else await awaited(in_thread("approve", ask))
        return _given(effect, await said if isawaitable(said) else said)


@dataclass(frozen=True, slots=True)
class ThreadedApprover:
    """Async version of an approver that may block."""

    approver: Approver

    async def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        """Ask it in a thread."""
        return await awaited(in_thread("approve", partial(self.approver.decide, effect)))


def approver_of(given: Approve | None) -> Approver:
    """What approves calls in a sync run; without any, a run rests at the first.

    :raises ConfigError: if it is async
    """
    if given is None:
        return Later()
    if _deciding(given) is None:
        return Asked(cast("Callable[..., object]", given))
    if iscoroutinefunction(_deciding(given)):
        raise ConfigError(f"approve: {type(given).__name__} is async; write await agent.arun(...)")
    return cast("Approver", given)


def async_approver_of(given: Approve | None) -> AsyncApprover:
    """What approves calls in an async run."""
    if given is None:
        return AsyncLater()
    if _deciding(given) is None:
        return AsyncAsked(cast("Callable[..., object]", given))
    if iscoroutinefunction(_deciding(given)):
        return cast("AsyncApprover", given)
    return ThreadedApprover(cast("Approver", given))


def check_approve(given: object) -> None:
    """Check what an agent was given.

    :raises ConfigError: if it is neither
    """
    instead = "write approve=lambda name, arguments: True, or approve=Always()"
    if given is None or (_deciding(given) is not None and not isinstance(given, type)):
        return
    if isinstance(given, type) or not callable(given):
        kind = f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
        raise ConfigError(f"approve: expected a function of name and arguments, got {kind}; {instead}")
    try:
        signature(given).bind("name", {})
    except TypeError as error:
        raise ConfigError(f"approve: it is called with name and arguments: {error}; {instead}") from None
    except ValueError:  # some functions of C have no signature
        return


def _deciding(given: object) -> object:
    return getattr(given, "decide", None)


def _arguments(effect: AskApproval) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", parse(effect.arguments))


def _given(effect: AskApproval, said: object) -> ApprovalGiven | None:
    match said:
        case None:
            return None
        case bool():
            return ApprovalGiven(effect.ref, said)
        case str():
            return ApprovalGiven(effect.ref, False, said)
        case _:
            raise ConfigError(f"approve: expected True, False, a reason or None, got {type(said).__name__}")


@dataclass(frozen=True, slots=True)
class Decided:
    """An approver that has the answer to one approval."""

    approver: Approver
    decision: ApprovalGiven

    def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        """The decision, if it is about this call; else what the approver says."""
        return self.decision if effect.ref == self.decision.ref else self.approver.decide(effect)


@dataclass(frozen=True, slots=True)
class AsyncDecided:
    """The async version of :class:`Decided`."""

    approver: AsyncApprover
    decision: ApprovalGiven

    async def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        """The decision, if it is about this call; else what the approver says."""
        return self.decision if effect.ref == self.decision.ref else await self.approver.decide(effect)
