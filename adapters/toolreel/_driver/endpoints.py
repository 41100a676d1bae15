"""``Endpoints`` and ``AsyncEndpoints``: the endpoints of a plan with fallbacks, as one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

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
class Endpoints:
    """The endpoints of a plan with fallbacks: each request goes to the one that it names.

    ::

        with HttpEndpoint(url) as first, HttpEndpoint(other_url) as second:
            run(plan, Ports(Endpoints(first, {"backup": second}), tools))

    Closing them is up to you.
    """

    first: Endpoint
    """The plan's own endpoint."""
    fallbacks: Mapping[str, Endpoint] = field(default_factory=dict)
    """The endpoints of the plan's fallbacks, by their names."""

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials that all of them send, by name."""
        return secrets_of(self.first, *self.fallbacks.values())

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request to the endpoint that it names."""
        return self._of(effect).send(effect)

    def stream(self, effect: SendRequest) -> Generator[ReplyPiece, None, None]:
        """Each piece of the reply, if that endpoint streams, and last the event."""
        return pieces_of(self._of(effect), effect)

    def _of(self, effect: SendRequest) -> Endpoint:
        return self.fallbacks[effect.endpoint] if effect.endpoint else self.first


@dataclass(frozen=True, slots=True)
class AsyncEndpoints:
    """The async version of :class:`Endpoints`."""

    first: AsyncEndpoint
    """The plan's own endpoint."""
    fallbacks: Mapping[str, AsyncEndpoint] = field(default_factory=dict)
    """The endpoints of the plan's fallbacks, by their names."""

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials that all of them send, by name."""
        return secrets_of(self.first, *self.fallbacks.values())

    async def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request to the endpoint that it names."""
        return await self._of(effect).send(effect)

    def stream(self, effect: SendRequest) -> AsyncGenerator[ReplyPiece, None]:
        """Each piece of the reply, if that endpoint streams, and last the event."""
        return async_pieces_of(self._of(effect), effect)

    def _of(self, effect: SendRequest) -> AsyncEndpoint:
        return self.fallbacks[effect.endpoint] if effect.endpoint else self.first


def server_of(performer: object, fallback: str) -> ServerAddress:
    """Where the endpoint of a performer sends its requests; empty if it doesn't say.

    :param fallback: the name of the plan's fallback that is asked; empty for the plan's own endpoint
    """
    at: Any = performer
    for _ in range(_DEPTH):
        server = getattr(getattr(at, "address", None), "server", None)
        if isinstance(server, ServerAddress):
            return server
        is_several = isinstance(at, Endpoints | AsyncEndpoints)
        at = (at.fallbacks.get(fallback) if fallback else at.first) if is_several else _inside(at)
    return NO_SERVER


def _inside(wrapper: object) -> Any:  # noqa: ANN401 - of any kind
    """The endpoint in one that wraps another, such as one with limits, or in a performer."""
    return getattr(wrapper, "endpoint", None) or getattr(wrapper, "performer", None)


def check_endpoints(plan: Plan, endpoint: object, kind: str) -> None:
    """Check that an endpoint knows the plan's fallbacks, if it says which it knows.

    :param kind: ``Endpoints`` or ``AsyncEndpoints``
    :raises ConfigError: if one is missing; says what to write
    """
    wanted = [fallback.name for fallback in plan.fallbacks]
    if not wanted:
        return
    for _ in range(_DEPTH):
        if not hasattr(endpoint, "fallbacks") and hasattr(endpoint, "endpoint"):
            endpoint = _inside(endpoint)
    # An endpoint of one's own may read SendRequest.endpoint itself; those with an address have one only.
    known = getattr(endpoint, "fallbacks", () if hasattr(endpoint, "address") else wanted)
    if missing := [name for name in wanted if name not in known]:
        given = ", ".join(f'"{name}": ...' for name in wanted)
        raise ConfigError(
            f"the plan falls back to {missing[0]!r}, and the ports have no endpoint of that name; "
            f"write {kind}(endpoint, {{{given}}})"
        )
