"""``Endpoints`` and ``AsyncEndpoints``: the endpoints of a plan with fallbacks, as one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from toolreel._driver.outcome_words import NO_SERVER, ServerAddress
from toolreel._driver.ports import (
    AsyncEndpoint,
    Endpoint,
    ReplyPiece,
    async_pieces_of,
    pieces_of,
    secrets_of,
)
from toolreel_core._errors import ConfigError
from toolreel_core._plan import Plan
from toolreel_core._protocol import EndpointChanged, Note, ReplyReceived, RequestFailed, SendRequest, State

_Endpoint = TypeVar("_Endpoint")
_DEPTH: Final = 8
"""How many endpoints and performers may wrap one another."""


@dataclass(frozen=True, slots=True)
class EndpointCost:
    """What one endpoint of a run with fallbacks took. What tools spend counts where the run was."""

    endpoint: str
    """The name of the fallback; empty for the plan's own endpoint."""
    model: str
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """``None`` if that of one of its replies is unknown, or of one before it."""


def endpoint_costs(state: State, notes: Sequence[Note]) -> tuple[EndpointCost, ...]:
    """A row for each endpoint that has had a turn, in order."""
    plan, tally, rows = state.plan, state.tally, list[EndpointCost]()
    models = {"": plan.model} | {fallback.name: fallback.model for fallback in plan.fallbacks}
    # The counts of the run so far, whenever it left an endpoint, and now.
    totals = [
        (note.before, note.prompt_tokens, note.completion_tokens, note.cost)
        for note in notes
        if isinstance(note, EndpointChanged)
    ]
    totals.append((state.endpoint_name, tally.prompt_tokens, tally.completion_tokens, tally.known_cost))
    prompt_before = completion_before = 0
    cost_before: float | None = 0.0
    for name, prompt, completion, cost in totals:
        known = 0.0 if cost is None and not prompt + completion else cost  # no reply yet is no cost
        spent = None if known is None or cost_before is None else known - cost_before
        tokens = prompt - prompt_before, completion - completion_before
        rows.append(EndpointCost(name, models.get(name, ""), *tokens, spent))
        prompt_before, completion_before, cost_before = prompt, completion, known
    return tuple(rows)


@dataclass(frozen=True, slots=True)
class _SeveralEndpoints(Generic[_Endpoint]):
    first: _Endpoint
    """The plan's own endpoint."""
    fallbacks: Mapping[str, _Endpoint] = field(default_factory=dict)
    """The endpoints of the plan's fallbacks, by their names."""

    @property
    def secrets(self) -> Mapping[str, str]:
        return secrets_of(self.first, *self.fallbacks.values())

    def endpoint_named(self, name: str) -> _Endpoint:
        """The endpoint of a fallback; the plan's own for an empty name."""
        return self.fallbacks[name] if name else self.first


@dataclass(frozen=True, slots=True)
class Endpoints(_SeveralEndpoints[Endpoint]):
    """The endpoints of a plan with fallbacks: each request goes to the one that it names.

    ::

        with HttpEndpoint(url) as first, HttpEndpoint(other_url) as second:
            run(plan, Ports(Endpoints(first, {"backup": second}), tools))

    Closing them is up to you.
    """

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request to the endpoint that it names."""
        return self.endpoint_named(effect.endpoint).send(effect)

    def stream(self, effect: SendRequest) -> Generator[ReplyPiece, None, None]:
        """Each piece of the reply, if that endpoint streams, and last the event."""
        return pieces_of(self.endpoint_named(effect.endpoint), effect)


@dataclass(frozen=True, slots=True)
class AsyncEndpoints(_SeveralEndpoints[AsyncEndpoint]):
    """The async version of :class:`Endpoints`."""

    async def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        return await self.endpoint_named(effect.endpoint).send(effect)

    def stream(self, effect: SendRequest) -> AsyncGenerator[ReplyPiece, None]:
        return async_pieces_of(self.endpoint_named(effect.endpoint), effect)


def server_of(performer: object, fallback: str) -> ServerAddress:
    """Where the endpoint of a performer sends its requests; empty if it doesn't say."""
    for layer in _wrapped_layers(performer, fallback):
        server = getattr(getattr(layer, "address", None), "server", None)
        if isinstance(server, ServerAddress):
            return server
    return NO_SERVER


def _wrapped_layers(outer: Any, fallback: str = "") -> Iterator[Any]:  # noqa: ANN401 - of any kind
    """A performer or endpoint, and those inside, such as the one that an endpoint with limits wraps."""
    for _ in range(_DEPTH):
        yield outer
        if isinstance(outer, Endpoints | AsyncEndpoints):
            outer = outer.fallbacks.get(fallback) if fallback else outer.first
        else:
            outer = getattr(outer, "endpoint", None) or getattr(outer, "performer", None)


def check_endpoints(plan: Plan, endpoint: object, kind: str) -> None:
    """Check that an endpoint knows the plan's fallbacks, if it says which it knows."""
    wanted = [fallback.name for fallback in plan.fallbacks]
    # An endpoint of one's own may read SendRequest.endpoint itself; those with an address have one only.
    for layer in _wrapped_layers(endpoint) if wanted else ():
        known = getattr(layer, "fallbacks", () if hasattr(layer, "address") else None)
        if known is not None:
            break
    else:
        return
    if missing := [name for name in wanted if name not in known]:
        given = ", ".join(f'"{name}": ...' for name in wanted)
        raise ConfigError(
            f"the plan falls back to {missing[0]!r}, and the ports have no endpoint of that name; "
            f"write {kind}(endpoint, {{{given}}})"
        )
