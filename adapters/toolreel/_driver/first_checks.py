"""What a driver checks before the first request: whether the performer can perform the plan at all.

Each message says what to write instead: these are the mistakes of a first program.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from inspect import iscoroutinefunction
from typing import Any, Final, NamedTuple, cast

from toolreel._driver.endpoints import check_endpoints
from toolreel._driver.performer import AsyncNoTools, AsyncPorts, NoTools, Ports
from toolreel._driver.ports import AsyncEndpoint, AsyncPerformer, Endpoint, Performer, Wanted
from toolreel_core._errors import ConfigError, ProtocolError
from toolreel_core._plan import Plan
from toolreel_core._protocol import Effect, Event, Finish
from toolreel_core._tools import ToolSurface

_EVENTS: Final = ("ReplyReceived", "ToolReturned", "ApprovalGiven", "WaitElapsed")


class Call(NamedTuple):
    """The function that was called, for errors; and how its twin, async or not, is called."""

    name: str
    twin: str


_RUN: Final = Call("run", "await arun(plan, ...)")
_ARUN: Final = Call("arun", "run(plan, ...)")


def performer_of(plan: Plan, given: Performer | Endpoint) -> Performer:
    """The performer of a run: the given one, or ports over an endpoint.

    :raises ConfigError: if it cannot perform the plan; says what to write
    """
    check_plan(plan, _RUN)
    performer = sync_performer(given, _RUN)
    _check_tools(plan, performer)
    if isinstance(performer, Ports):
        check_endpoints(plan, performer.endpoint, "Endpoints")
    return performer


def check_plan(plan: object, call: Call) -> None:
    """Check that a driver was given a plan.

    :raises ConfigError: if not; says what to write
    """
    if not isinstance(plan, Plan):
        text = repr(plan) if isinstance(plan, str) else "..."
        instead = f"write {call.name}(Plan.of(model=..., messages={text}), ...)"
        if callable(getattr(plan, call.name, None)):
            instead = f"an agent runs itself: {call.name.replace('run', 'agent.run')}(prompt)"
        raise ConfigError(f"{call.name}: expected a Plan, got {type(plan).__name__}; {instead}")


def sync_performer(given: Performer | Endpoint, call: Call) -> Performer:
    """The given performer, or ports over an endpoint.

    :raises ConfigError: if it is neither, or async; says what to write
    """
    if hasattr(given, "perform"):
        performer = cast("Performer", given)
        if iscoroutinefunction(performer.perform):
            raise ConfigError(f"{call.name}: {type(given).__name__} is async; write {call.twin}")
        for port in _ports_of(given):
            if port.is_async:
                raise ConfigError(f"{port.name} is async; write AsyncPorts(...) and {call.twin}")
        return performer
    if not hasattr(given, "send"):
        kind = type(given).__name__
        raise ConfigError(f"{call.name}: expected ports, got {kind}; write Ports(endpoint, tools)")
    return sync_performer(Ports(cast("Any", given)), call)


def async_performer_of(plan: Plan, given: AsyncPerformer | AsyncEndpoint) -> AsyncPerformer:
    """The async version of :func:`performer_of`."""
    check_plan(plan, _ARUN)
    performer = async_performer(given, _ARUN)
    _check_tools(plan, performer)
    if isinstance(performer, AsyncPorts):
        check_endpoints(plan, performer.endpoint, "AsyncEndpoints")
    return performer


def async_performer(given: AsyncPerformer | AsyncEndpoint, call: Call) -> AsyncPerformer:
    """The async version of :func:`sync_performer`."""
    if hasattr(given, "perform"):
        if isinstance(given, Ports):
            raise ConfigError(f"{call.name}: Ports is not async; write AsyncPorts(...), or {call.twin}")
        for port in _ports_of(given):
            if port.blocks:
                without = call.twin.partition("(")[0]
                raise ConfigError(
                    f"{port.name} is not async; take its async version, or Ports and {without}()"
                )
        return cast("AsyncPerformer", given)
    if not hasattr(given, "send"):
        kind = type(given).__name__
        raise ConfigError(f"{call.name}: expected ports, got {kind}; write AsyncPorts(endpoint, tools)")
    return async_performer(AsyncPorts(cast("Any", given)), call)


class _Port(NamedTuple):
    """What ports were given for one kind of effect."""

    name: str
    method: Callable[..., object]

    @property
    def is_async(self) -> bool:
        return iscoroutinefunction(self.method)

    @property
    def blocks(self) -> bool:
        """Whether it says that it returns its answer; a plain function may also return an awaitable."""
        says = str(getattr(self.method, "__annotations__", {}).get("return", ""))
        return not self.is_async and any(event in says for event in _EVENTS) and "[" not in says


def _ports_of(performer: object) -> Iterator[_Port]:
    if isinstance(performer, Ports | AsyncPorts):
        for what, port, method in (
            ("endpoint", performer.endpoint, "send"),
            ("tools", performer.tools, "run"),
            ("approver", performer.approver, "decide"),
            ("clock", performer.clock, "wait"),
        ):
            if callable(getattr(port, method, None)):
                yield _Port(f"{what}: {type(port).__name__}", getattr(port, method))


def _check_tools(plan: Plan, performer: object) -> None:
    if not isinstance(performer, Ports | AsyncPorts) or not plan.sends_tools:
        return
    tools, kind = performer.tools, type(performer).__name__
    planned = [tool.name for tool in plan.tools.definitions if tool.exposed]
    if isinstance(tools, NoTools | AsyncNoTools):
        if planned:
            raise ConfigError(
                f"the plan has tools ({_named(planned)}), and {kind} has none to run them; "
                f"write {kind}(endpoint, tools)"
            )
        return
    surface = getattr(tools, "surface", None)
    if not isinstance(surface, ToolSurface):  # a host of one's own need not say what it has
        return
    hosted = {tool.name for tool in surface.definitions}
    if missing := [name for name in planned if name not in hosted]:
        raise ConfigError(
            f"the plan has tools ({_named(missing)}) that {type(tools).__name__} does not have; "
            "write Plan.of(..., tools=host.surface) with the host that you give the ports"
        )
    if hosted and not plan.tools.definitions and not plan.tools.masked:
        warnings.warn(
            f"the ports have tools ({_named(sorted(hosted))}), and the plan offers none to the model; write "
            'Plan.of(..., tools=host.surface), or LoopConfig(tool_use_mode="disabled") if that is meant',
            UserWarning,
            stacklevel=4,
        )


def _named(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


_PERFORM: Final = Call("perform", "await aperform(effect, ...)")
_APERFORM: Final = Call("aperform", "perform(effect, ...)")


def perform(effect: Effect, ports: Performer | Endpoint) -> Event | None:
    """Perform one effect, and return the event that answers it, for the next ``step``.

    Failures of the model's server and of tools are events, too.

    :param effect: one of ``pending(state)``
    :param ports: as for :func:`~toolreel._driver.sync.run`
    :returns: the event; ``None`` if the approver has not decided yet
    :raises ConfigError: if the ports cannot perform anything; says what to write
    :raises ProtocolError: if the effect is ``Finish``
    """
    return sync_performer(ports, _PERFORM).perform(_wanted(effect))


async def aperform(effect: Effect, ports: AsyncPerformer | AsyncEndpoint) -> Event | None:
    """Perform one effect, and return the event that answers it, for the next ``step``.

    The async version of :func:`perform`, with the same parameters.
    """
    return await async_performer(ports, _APERFORM).perform(_wanted(effect))


def _wanted(effect: Effect) -> Wanted:
    if isinstance(effect, Finish):
        raise ProtocolError("Finish: nothing is left to perform; the run ended with state.outcome")
    return effect
