"""Further models and servers of an agent, where a run goes on when the one before fails."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterable, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from toolreel._agent.settings import PresetLike
from toolreel._driver.ports import AsyncEndpoint, Endpoint
from toolreel._driver.several_endpoints.endpoints import AsyncEndpoints, Endpoints
from toolreel._secrets.secret import Secret
from toolreel._secrets.urls import shown_url
from toolreel_core._conversation.message_input import Messages
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.canonical import Json
from toolreel_core._plan.fallback import REASONS, FallbackPlan, FallbackReason, ForeignReasoning
from toolreel_core._plan.plan import Plan, refusal_of_unknown_cost
from toolreel_core._settings.loop_config import LoopConfig
from toolreel_core._settings.price import Price

if TYPE_CHECKING:
    from toolreel._agent.agent import Agent

_OF_SERVER: Final = ("base_url", "api_key", "api_key_env", "headers", "endpoint")


@dataclass(frozen=True, slots=True, repr=False)
class Fallback:
    """A model, and its server, where an agent's run goes on when the endpoint before fails.

    ::

        Agent("model-a", base_url=url, fallbacks=[Fallback("model-b", base_url=other, provider="groq")])

    Without ``base_url`` and ``endpoint``, it is another model at the agent's own server.
    """

    model: str
    """The model's name, as its server knows it."""
    _: KW_ONLY
    name: str = ""
    """Names the endpoint in notes and recordings; by default the model's name."""
    base_url: str | None = None
    """URL of another server; it gets the keys and headers that are named here, and none of the agent's."""
    provider: str = ""
    """The provider whose presets apply here; at the agent's server, by default the agent's."""
    preset: PresetLike = None
    """Presets by name, on top of those."""
    api_key: str | Secret | None = None
    """The API key itself; it is never shown, recorded or pickled."""
    api_key_env: str | None = None
    """The variable that holds the key; by default none, and ``OPENAI_API_KEY`` for OpenAI."""
    headers: Mapping[str, str | Secret] | None = None
    """Further headers of each request here."""
    options: Mapping[str, Json] | None = None
    """Further keys of the request here, such as ``temperature``."""
    config: LoopConfig | Mapping[str, Any] | None = None
    """Settings here, such as ``max_tries``; the limits of the run are those of the agent."""
    price: Price | None = None
    """What the model costs; by default, the catalogue's price."""
    endpoint: Endpoint | AsyncEndpoint | None = None
    """An endpoint of your own instead of a server; it stays open."""
    on: Iterable[FallbackReason] = REASONS
    """The reasons that lead here, such as ``["timeout", "server_error"]``; by default, all."""
    foreign_reasoning: ForeignReasoning = "pin"
    """``"drop"``: the history goes here without signatures that only the endpoint before can read; by
    default, a history that has them stays there."""

    def __repr__(self) -> str:
        """Model and server, and nothing secret."""
        where = "" if self.base_url is None else f", base_url={shown_url(self.base_url)!r}"
        return f"Fallback({self.model!r}{where})"


def agents_of(agent: Agent[Any], fallbacks: object) -> dict[str, Agent[Any]]:
    """The agent at each of its fallbacks, by their names.

    :raises ConfigError: if a setting is not usable; names the fallback
    """
    if isinstance(fallbacks, str) or not isinstance(fallbacks, Iterable):
        raise ConfigError(f"fallbacks: expected a list of Fallback, got {type(fallbacks).__name__}")
    found = dict[str, Any]()
    for number, there in enumerate(fallbacks):
        if not isinstance(there, Fallback):
            kind = type(there).__name__
            raise ConfigError(f"fallbacks[{number}]: expected a Fallback, got {kind}; write Fallback(model)")
        if (name := there.name or there.model) in found:
            raise ConfigError(f"fallbacks[{number}]: there are two named {name!r}; write name= in one")
        try:
            found[name] = _agent_at(agent, there)
        except ConfigError as error:
            raise ConfigError(f"fallbacks[{number}]: {error}") from error
    return found


def _agent_at(agent: Agent[Any], there: Fallback) -> Agent[Any]:
    is_elsewhere = there.base_url is not None or there.endpoint is not None
    server = {key: getattr(there if is_elsewhere else agent, key) for key in _OF_SERVER}
    provider = there.provider or ("" if is_elsewhere else agent.provider)
    made = replace(
        agent,
        model=there.model,
        **server,
        provider=provider,
        preset=there.preset,
        options=there.options,
        config=there.config,
        price=there.price,
        fallbacks=(),
        tools=(),
        output=None,
    )
    # What is not the endpoint's is made once, and the key of the environment is for the agent's server.
    for name in ("_offered", "_output"):
        object.__setattr__(made, name, getattr(agent, name))
    object.__setattr__(made, "_keyless", is_elsewhere)
    return made


def with_fallbacks(plan: Plan, agent: Agent[Any], prompt: Messages, *, streams: bool) -> Plan:
    """The plan of an agent with its fallbacks.

    :raises ConfigError: if one contradicts the plan, or its costs are limited and unknown
    """
    others = list[FallbackPlan]()
    for there, (name, at) in zip(agent.fallbacks, agent.at_fallbacks.items(), strict=True):
        own = at.plan(prompt, streams=streams)
        others.append(FallbackPlan.of_plan(name, own, there.on, there.foreign_reasoning))
    whole = replace(plan, fallbacks=tuple(others))
    for at_other in whole.at_fallbacks:
        if at_other.cost_is_unknown and at_other.provider.reports_cost != "yes":
            raise ConfigError(refusal_of_unknown_cost(at_other.config, at_other.model))
    return whole


@contextmanager
def joined_endpoint(
    first: Endpoint,
    agent: Agent[Any],
    transport: Any,  # noqa: ANN401 - of httpx, an extra
) -> Generator[Endpoint]:
    """The endpoints of an agent as one; those of servers are open inside the block."""
    if not agent.fallbacks:
        yield first
        return
    with ExitStack() as opened:
        others = {
            name: opened.enter_context(at.ports(transport)).endpoint
            for name, at in agent.at_fallbacks.items()
        }
        yield Endpoints(first, others)


@asynccontextmanager
async def joined_async_endpoint(
    first: AsyncEndpoint,
    agent: Agent[Any],
    transport: Any,  # noqa: ANN401 - of httpx, an extra
) -> AsyncGenerator[AsyncEndpoint]:
    """The async version of :func:`joined_endpoint`."""
    if not agent.fallbacks:
        yield first
        return
    async with AsyncExitStack() as opened:
        others = dict[str, AsyncEndpoint]()
        for name, at in agent.at_fallbacks.items():
            ports = await opened.enter_async_context(at.aports(transport))
            others[name] = ports.endpoint
        yield AsyncEndpoints(first, others)
