"""The HTTP server behind the proxy, the page of recordings and the probes of a worker: uvicorn with h11.

Whoever reaches the port can send anything before a token is looked at. h11 limits the bytes of a head, of a
chunk's line and of trailers, and refuses a request with two ``Host`` headers; uvicorn limits the requests
under way. Neither limits the time that a client takes to send a request, nor the connections on which it has
not sent one: :class:`LimitedConnection` does.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, TypeAlias, cast

from toolreel._internal.daemon_thread import start_in_daemon_thread
from toolreel._internal.errors import MissingExtra

try:
    import h11
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError:
    raise MissingExtra.of("cli", "uvicorn") from None

HEAD_BYTES = 32 * 1024
HEAD_SECONDS = 20.0
"""For a head as a whole, so that it cannot be dripped."""
BODY_SECONDS = 60.0
"""Without a piece of a body; as a whole, a large one may take longer over a slow line."""
_IDLE_SECONDS = 75
"""For which an idle connection is kept: longer than clients keep them (ours 60 s), so that no request is sent
on a connection that is being closed."""
# The default of uvicorn.
_BACKLOG = 2_048

ASGIApp: TypeAlias = Callable[..., Awaitable[None]]


class LimitedConnection(H11Protocol):
    """A connection that is closed if its client is slow, or if others need its place.

    Where all places are taken, the one that has waited longest for a head is given to the new client. So
    connections that send nothing keep nobody out; where all are at work, uvicorn answers 503.
    """

    _timer: asyncio.TimerHandle | None = None
    _waits_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast("asyncio.Transport", transport))
        self._start_head_timer()
        if self.limit_concurrency and len(self.connections) >= self.limit_concurrency:
            others = (
                each for each in self.connections if isinstance(each, LimitedConnection) and each is not self
            )
            waiting = [each for each in others if each.conn.their_state is h11.IDLE]
            if waiting:
                min(waiting, key=lambda each: each._waits_since)._abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        sends = self.conn.their_state
        if sends is h11.SEND_BODY and self.conn.our_state is not h11.DONE:
            self._restart_timer(BODY_SECONDS)
        elif sends is h11.IDLE or sends is h11.SEND_BODY:  # a head, or a body that was answered without it
            if self._timer is None:
                self._start_head_timer()
        else:
            self._stop_timer()

    def on_response_complete(self) -> None:
        """Go on; if the client has sent a part of its next head already, allow it time for the rest."""
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _start_head_timer(self) -> None:
        self._waits_since = self.loop.time()
        self._restart_timer(HEAD_SECONDS)

    def _restart_timer(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, self._abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _abort(self) -> None:
        self.connections.discard(self)  # at once: more clients may connect before it is lost
        self.transport.abort()


def server_config(
    app: ASGIApp, *, connections: int, drain: float = 1.0, lifespan: bool = False
) -> uvicorn.Config:
    """How an application is served.

    :param connections: how many there may be at once
    :param drain: seconds for requests under way, at the end
    :param lifespan: whether the application is told of the beginning and the end
    """
    return uvicorn.Config(
        app,
        http=LimitedConnection,
        h11_max_incomplete_event_size=HEAD_BYTES,
        limit_concurrency=connections + 1,  # uvicorn refuses the request on the last one
        timeout_keep_alive=_IDLE_SECONDS,
        # uvicorn takes whole seconds, and cancels all requests at once with 0.
        timeout_graceful_shutdown=max(1, round(drain)),
        lifespan="on" if lifespan else "off",
        ws="none",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
    )


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens, for asyncio.

    :param port: 0 for any free one
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    # asyncio sets TCP_NODELAY on the connections of sockets that name TCP, and create_server names nothing.
    # Without it, the body of an answer waits until the client acknowledges the head, which takes it 40 ms.
    return socket.socket(made.family, made.type, socket.IPPROTO_TCP, fileno=made.detach())


class Page(NamedTuple):
    status: int
    text: str
    kind: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = {}


def page_app(page: Callable[[str, str, Mapping[str, str]], Page]) -> ASGIApp:
    """An application that answers GET requests, each in a thread of its own.

    The threads are daemons: a page that is being made, or a probe that meets a database which is away, keeps
    neither the others nor the process.

    :param page: makes the answer from the path, the query and the headers, whose names are in lower case
    """

    async def app(scope: Mapping[str, Any], _receive: object, send: Callable[[Any], Awaitable[None]]) -> None:
        if scope["method"] == "GET":
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
            query = scope["query_string"].decode("latin-1")
            made = await asyncio.wrap_future(
                start_in_daemon_thread("page", lambda: page(scope["path"], query, headers))
            )
        else:
            made = Page(405, "There is nothing but GET.", headers={"Allow": "GET"})
        body = made.text.encode()
        lines = {"Content-Type": made.kind, "Content-Length": str(len(body)), **made.headers}
        encoded = [(name.lower().encode(), value.encode("latin-1")) for name, value in lines.items()]
        await send({"type": "http.response.start", "status": made.status, "headers": encoded})
        await send({"type": "http.response.body", "body": body})

    return app
