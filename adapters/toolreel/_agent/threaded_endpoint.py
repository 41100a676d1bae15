"""An endpoint that may block, in an async run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from inspect import iscoroutinefunction
from typing import cast

from toolreel._driver import AsyncEndpoint, Endpoint, ReplyPiece, StreamingEndpoint, secrets_of
from toolreel.tools import awaited, in_thread
from toolreel_core._protocol import ReplyReceived, RequestFailed, SendRequest


@dataclass(frozen=True, slots=True)
class ThreadedEndpoint:
    """Async version of an endpoint that may block."""

    endpoint: Endpoint

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials that the endpoint sends."""
        return secrets_of(self.endpoint)

    async def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request in a thread."""
        return await awaited(in_thread("request", partial(self.endpoint.send, effect)))

    async def stream(self, effect: SendRequest) -> AsyncGenerator[ReplyPiece, None]:
        """Each piece of the reply, from a thread, and last the event."""
        if not isinstance(self.endpoint, StreamingEndpoint):
            event = await self.send(effect)
            yield event
            return
        pieces = self.endpoint.stream(effect)
        try:
            while (piece := await awaited(in_thread("request", partial(next, pieces, None)))) is not None:
                yield piece
        finally:
            with suppress(ValueError):  # a thread that was abandoned still waits for the next piece
                pieces.close()


def awaited_endpoint(endpoint: Endpoint | AsyncEndpoint) -> AsyncEndpoint:
    """An endpoint for async runs."""
    if iscoroutinefunction(endpoint.send):
        return cast("AsyncEndpoint", endpoint)
    return ThreadedEndpoint(cast("Endpoint", endpoint))
