"""Serves an ASGI application on a port until it is told to stop, and lets requests that are under way end."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from toolreel._internal.errors import AdapterError, MissingExtra

try:
    import uvicorn
except ImportError:
    raise MissingExtra.of("proxy", "uvicorn") from None

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_BACKLOG: Final = 2_048
_IDLE: Final = 75
"""Seconds for which a client's idle connection is kept: longer than clients keep them."""


def serve_app(
    app: Any,  # noqa: ANN401 - an ASGI application
    listening: socket.socket,
    *,
    drain: float,
    ready: Callable[[], None],
    hurry: Callable[[], None] = lambda: None,
    lifespan: bool = True,
    log_level: str = "error",
) -> None:
    """Serve until SIGTERM or Ctrl-C; a second Ctrl-C ends at once.

    :param drain: seconds for requests that are under way
    :param ready: called once requests are taken
    :param hurry: called by a handler of signals at the second Ctrl-C; it may take no lock
    :param log_level: below which nothing is printed
    """
    config = server_config(app, drain, lifespan=lifespan, log_level=log_level)
    with listening:
        _Server(config, ready, hurry).run(sockets=[listening])


def server_config(
    app: Any,  # noqa: ANN401 - an ASGI application
    drain: float = 30.0,
    *,
    lifespan: bool = True,
    log_level: str = "error",
) -> uvicorn.Config:
    """How an application is served."""
    return uvicorn.Config(
        app,
        log_level=log_level,
        access_log=False,
        lifespan="on" if lifespan else "off",
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=max(1, round(drain)),
    )


def listening_on(host: str, port: int, refused: type[AdapterError], option: str) -> socket.socket:
    """A socket that listens, for asyncio.

    :param refused: raised if the address cannot be used
    :param option: how to name another one
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        made = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise refused(
            f"cannot listen on {host}:{port}: {error.strerror or error}; name another with {option}"
        ) from None
    # asyncio sets TCP_NODELAY on the connections of sockets that name TCP, and create_server names nothing.
    # Without it, the body of an answer waits until the client acknowledges the head, which takes it 40 ms.
    return socket.socket(made.family, made.type, socket.IPPROTO_TCP, fileno=made.detach())


class _Server(uvicorn.Server):
    """A server that says when it is ready, and ends without raising the signal again that ended it."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], hurry: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        self._hurry = hurry

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; the second Ctrl-C also ends what an application does at its end."""
        super().handle_exit(sig, frame)
        if self.force_exit:
            self._hurry()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take requests."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End; the application is told so even if there is no time for requests that are under way."""
        await super().shutdown(sockets)
        if self.force_exit:
            await self.lifespan.shutdown()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Drain on a signal; the exit code is that of a server which was asked to stop."""
        before = {
            number: signal.signal(number, self.handle_exit) for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
