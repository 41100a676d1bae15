"""The tools of an agent, and who approves their calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from inspect import isawaitable, iscoroutinefunction, signature
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast, runtime_checkable

from toolreel._driver import Approver, AsyncApprover, AsyncLater, Later
from toolreel.tools import (
    AsyncPythonTools,
    AsyncRouter,
    PythonTools,
    Router,
    Threaded,
    Tool,
    Toolbox,
)
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import parse
from toolreel_core._protocol import ApprovalGiven, AskApproval
from toolreel_core._tools import ToolDefinition, ToolSurface

if TYPE_CHECKING:
    from toolreel.tools.skills import Skills

# The tools of an agent: functions, tools, hosts and skills, in lists as deep as you like.


@runtime_checkable
class OfferingHost(Protocol):
    """A tool host that says what it has, such as ``PythonTools`` or ``McpTools``."""

    @property
    def surface(self) -> ToolSurface: ...


AgentTools: TypeAlias = (
    "Callable[..., object] | Tool | OfferingHost | Skills | Iterable[AgentTools]"  # itself in a list
)


@dataclass(frozen=True, slots=True)
class OfferedTools:
    functions: tuple[Tool, ...] = ()
    hosts: tuple[OfferingHost, ...] = ()
    message: str = ""

    @classmethod
    def of(cls, given: AgentTools) -> OfferedTools:
        """The tools in a list; :class:`ConfigError` if one of them is not a tool, or two share a name."""
        functions, hosts, messages = list[Tool](), list[OfferingHost](), list[str]()

        def add(one: object) -> None:
            kind = type(one).__name__
            if isinstance(one, Tool):
                functions.append(one)
            elif isinstance(one, (ToolSurface, ToolDefinition, Mapping, str, bytes)):
                raise ConfigError(f"tools: {kind} cannot run tools; give the function or the host instead")
            elif isinstance(one, OfferingHost):
                if not (isinstance(one, Toolbox) or one.surface.definitions or one.surface.masked):
                    inside = f"make the agent inside `with {kind}(...) as host:`"
                    raise ConfigError(f"tools: {kind} offers no tool yet; {inside}")
                hosts.append(one)
            elif isinstance(getattr(one, "skills", None), tuple):
                from toolreel.tools.skills import skill_tools, skills_message

                functions.extend(skill_tools(cast("Skills", one)))
                messages.append(skills_message(cast("Skills", one)))
            elif isinstance(one, Iterable):
                for each in one:
                    add(each)
            elif callable(one):
                functions.append(Tool.of(one))
            else:
                expected = f"expected functions, tools or tool hosts, got {kind}"
                raise ConfigError(f"tools: {expected}; write tools=[function, ...]")

        add(given)
        offered = cls(tuple(functions), tuple(hosts), "\n\n".join(filter(None, messages)))
        _ = offered.surface  # says so if two share a name
        return offered

    @property
    def surface(self) -> ToolSurface:
        surfaces = [host.surface for host in self.hosts]
        own = [tool.definition for tool in self.functions]
        return ToolSurface(
            (*own, *(definition for surface in surfaces for definition in surface.definitions)),
            tuple(name for surface in surfaces for name in surface.masked),
        )

    @property
    def needs_async(self) -> bool:
        return any(tool.is_async for tool in self.functions) or any(map(_has_async_run, self.hosts))

    def host(self, *, awaits: bool = False) -> Any:  # noqa: ANN401 - sync or async
        """What runs them; in an async run, hosts that block run in threads.

        :param awaits: whether the run is async
        """
        own = AsyncPythonTools(self.functions) if awaits else PythonTools(self.functions)
        # Whole names: the longest prefix that a router finds for a name is the name itself.
        routes = dict[str, Any]()
        for host in self.hosts:
            if _has_async_run(host) and not awaits:
                raise ConfigError(f"tools: {type(host).__name__} is async; write await agent.arun(...)")
            runs = Threaded(host) if awaits and not _has_async_run(host) else host
            routes |= {definition.name: runs for definition in host.surface.definitions}
        if not routes:
            return own
        return AsyncRouter(routes, own) if isinstance(own, AsyncPythonTools) else Router(routes, own)


def _has_async_run(host: object) -> bool:
    return iscoroutinefunction(getattr(host, "run", None))


# Approvers of an agent: a function of name and arguments, an approver, or a decision that is there.


Decision: TypeAlias = bool | str | None
"""``True`` approves, ``False`` or a reason denies, ``None`` leaves the run at rest."""

Approve: TypeAlias = (
    Callable[[str, Mapping[str, Any]], Decision | Awaitable[Decision]] | Approver | AsyncApprover
)


@dataclass(frozen=True, slots=True)
class _FunctionApprover:
    function: Callable[..., Any]

    def decide(self, effect: AskApproval) -> Any:  # noqa: ANN401 - sync or async, as the function
        decision = self.function(effect.name, parse(effect.arguments))
        if isawaitable(decision):
            return self._await_decision(effect, decision)
        return _approval_event(effect, decision)

    async def _await_decision(self, effect: AskApproval, decision: Awaitable[object]) -> ApprovalGiven | None:
        return _approval_event(effect, await decision)


def approver_of(given: Approve | None, *, awaits: bool = False) -> Any:  # noqa: ANN401 - sync or async
    """What approves calls in a run; without any, a run rests at the first.

    :param awaits: whether the run is async
    """
    if given is None:
        return AsyncLater() if awaits else Later()
    is_async = iscoroutinefunction(_decide_method(given) or given)
    if is_async and not awaits:
        raise ConfigError("approve: it is async; write await agent.arun(...)")
    approver = given if _decide_method(given) else _FunctionApprover(cast("Callable[..., Any]", given))
    return Threaded(approver) if awaits and not is_async else approver


def check_approve_argument(given: object) -> None:
    instead = "write approve=lambda name, arguments: True, or approve=Always()"
    if given is None or (_decide_method(given) and not isinstance(given, type)):
        return
    if not callable(given):
        kind = type(given).__name__
        raise ConfigError(f"approve: expected a function of name and arguments, got {kind}; {instead}")
    try:
        signature(given).bind("name", {})
    except TypeError as error:
        raise ConfigError(f"approve: it is called with name and arguments: {error}; {instead}") from None
    except ValueError:  # some functions of C have no signature
        return


def _decide_method(given: object) -> Callable[[AskApproval], Any] | None:
    return getattr(given, "decide", None)


def _approval_event(effect: AskApproval, decision: object) -> ApprovalGiven | None:
    if decision is None:
        return None
    if isinstance(decision, str):
        return ApprovalGiven(effect.ref, False, decision)
    if isinstance(decision, bool):
        return ApprovalGiven(effect.ref, decision)
    raise ConfigError(f"approve: expected True, False, a reason or None, got {type(decision).__name__}")
