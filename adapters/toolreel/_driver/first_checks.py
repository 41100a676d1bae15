"""What a driver checks before the first request: whether the performer can perform the plan at all.

Each message says what to write instead: these are the mistakes of a first program.
"""

from __future__ import annotations

import warnings
from inspect import iscoroutinefunction
from typing import Any

from toolreel._driver.ports import (
    AsyncEndpoint,
    AsyncPerformer,
    AsyncPorts,
    Endpoint,
    InstantClock,
    NoTools,
    Performer,
    Ports,
    Wanted,
    check_fallback_endpoints,
)
from toolreel_core._errors import ConfigError, ProtocolError
from toolreel_core._plan import Plan
from toolreel_core._protocol import Effect, Event, Finish
from toolreel_core._tools import ToolSurface

# Names, not classes: annotations may be texts (`from __future__ import annotations`).
_EVENTS = ("ReplyReceived", "ToolReturned", "ApprovalGiven", "WaitElapsed")


def performer_for_plan(plan: object, given: object, call: str) -> Any:  # noqa: ANN401 - sync or async
    """The performer of a run: the given one, or ports over an endpoint.

    :param call: the function that was called
    """
    if not isinstance(plan, Plan):
        text = repr(plan) if isinstance(plan, str) else "..."
        instead = f"write {call}(Plan.of(model=..., messages={text}), ...)"
        if callable(getattr(plan, call, None)):
            instead = f"an agent runs itself: agent.{call}(prompt)"
        raise ConfigError(f"{call}: expected a Plan, got {type(plan).__name__}; {instead}")
    performer = performer_from_argument(given, call)
    if isinstance(performer, Ports | AsyncPorts):
        _check_tools(plan, performer)
        check_fallback_endpoints(plan, performer)
    return performer


def performer_from_argument(given: object, call: str) -> Any:  # noqa: ANN401 - sync or async
    """The performer for a function of the drivers, whose name begins with ``a`` if it is async."""
    is_async = call.startswith("a")
    awaits = "" if is_async or "stream" in call else "await "
    twin = f"{awaits}{call[1:] if is_async else f'a{call}'}(...)"
    ports, kind = AsyncPorts if is_async else Ports, type(given).__name__
    performer: Any = given
    if not hasattr(given, "perform"):
        if not hasattr(given, "send"):
            raise ConfigError(f"{call}: expected ports, got {kind}; write {ports.__name__}(endpoint, tools)")
        performer = ports(performer)
    if is_async and isinstance(performer, Ports):
        raise ConfigError(f"{call}: Ports is not async; write AsyncPorts(...), or {twin}")
    if not is_async and iscoroutinefunction(performer.perform):
        raise ConfigError(f"{call}: {kind} is async; write {twin}")
    methods = {"endpoint": "send", "tools": "run", "approver": "decide", "clock": "wait"}
    for name, method in methods.items() if isinstance(performer, Ports | AsyncPorts) else ():
        port = getattr(performer, name)
        what = f"{name}: {type(port).__name__}"
        if (
            is_async
            and _is_sync_port_method(getattr(port, method))
            and not isinstance(port, NoTools | InstantClock)
        ):
            instead = f"take its async version, or Ports and {twin.partition('(')[0]}()"
            raise ConfigError(f"{what} is not async; {instead}")
        if not is_async and iscoroutinefunction(getattr(port, method)):
            raise ConfigError(f"{what} is async; write AsyncPorts(...) and {twin}")
    return performer


def _is_sync_port_method(method: object) -> bool:
    """Whether a port says that it returns its answer; a plain function may also return an awaitable."""
    # A bracket is that of `Awaitable[ToolReturned]` and the like.
    says = str(getattr(method, "__annotations__", {}).get("return", ""))
    return not iscoroutinefunction(method) and any(event in says for event in _EVENTS) and "[" not in says


def _check_tools(plan: Plan, ports: Ports | AsyncPorts) -> None:
    if not plan.sends_tools:
        return
    kind, host = type(ports).__name__, type(ports.tools).__name__
    planned = [tool.name for tool in plan.tools.definitions if tool.exposed]
    if isinstance(ports.tools, NoTools):
        if planned:
            has_none = f"and {kind} has none to run them; write {kind}(endpoint, tools)"
            raise ConfigError(f"the plan has tools ({_join_names(planned)}), {has_none}")
        return
    surface = getattr(ports.tools, "surface", None)
    if not isinstance(surface, ToolSurface):  # a host of one's own need not say what it has
        return
    hosted = {tool.name for tool in surface.definitions}
    if missing := [name for name in planned if name not in hosted]:
        raise ConfigError(
            f"the plan has tools ({_join_names(missing)}) that {host} does not have; "
            "write Plan.of(..., tools=host.surface) with the host that you give the ports"
        )
    if hosted and not plan.tools.definitions and not plan.tools.masked:
        warnings.warn(
            f"the ports have tools ({_join_names(sorted(hosted))}), and the plan offers none to the model; "
            'write Plan.of(..., tools=host.surface), or LoopConfig(tool_use_mode="disabled") if that is '
            "meant",
            UserWarning,
            # The caller of `run`.
            stacklevel=4,
        )


def _join_names(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


def perform(effect: Effect, ports: Performer | Endpoint) -> Event | None:
    """Perform one effect, and return the event that answers it, for the next ``step``.

    Failures of the model's server and of tools are events, too.

    :param effect: one of ``pending(state)``
    :param ports: as for :func:`~toolreel._driver.drivers.run`
    :returns: the event; ``None`` if the approver has not decided yet
    :raises ConfigError: if the ports cannot perform anything; says what to write
    :raises ProtocolError: if the effect is ``Finish``
    """
    performer: Performer = performer_from_argument(ports, "perform")
    return performer.perform(_check_not_finished(effect))


async def aperform(effect: Effect, ports: AsyncPerformer | AsyncEndpoint) -> Event | None:
    """Perform one effect, and return the event that answers it, for the next ``step``.

    The async version of :func:`perform`, with the same parameters.
    """
    performer: AsyncPerformer = performer_from_argument(ports, "aperform")
    return await performer.perform(_check_not_finished(effect))


def _check_not_finished(effect: Effect) -> Wanted:
    if isinstance(effect, Finish):
        raise ProtocolError("Finish: nothing is left to perform; the run ended with state.outcome")
    return effect
