"""Serves a proxy on a port until it is told to stop, and lets requests that are under way end."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from toolreel._internal import MissingExtra, ProxyConfigError
from toolreel.proxy._app import proxy_app
from toolreel.proxy._recording.journal_queue import Tell
from toolreel.proxy._settings import ProxySettings

try:
    import uvicorn
except ImportError:
    raise MissingExtra.of("proxy", "uvicorn") from None

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_BACKLOG: Final = 2_048
_IDLE: Final = 75
"""Seconds for which a client's idle connection is kept: longer than clients keep them."""
_SWITCH: Final = 0.000_5
"""Seconds that a thread keeps Python for, while another waits for it."""


def serve(
    settings: ProxySettings,
    host: str,
    port: int,
    *,
    drain: float = 30.0,
    tell: Tell,
    ready: Callable[[str], None],
) -> None:
    """Serve until SIGTERM or Ctrl-C; a second Ctrl-C ends at once.

    Then, too, all cassettes are written; the journals that are left are not.

    :param drain: seconds for requests that are under way
    :param ready: called with the base URL for clients, once requests are taken
    :raises ProxyConfigError: if the address cannot be used
    """
    app = proxy_app(settings, tell=tell)
    socket_ = listening(host, port)
    bound = socket_.getsockname()[1]
    named = f"[{host}]" if ":" in host else host
    if settings.folder is not None:  # a thread writes recordings, and would hold up each request by 5 ms
        sys.setswitchinterval(_SWITCH)
    url = f"http://{named}:{bound}/v1"
    with socket_:
        # The second Ctrl-C calls `hurry` in a handler of signals, so that takes no lock.
        server = _Server(server_config(app, drain), lambda: ready(url), app.state.proxy.recorder.hurry)
        server.run(sockets=[socket_])


def server_config(app: Any, drain: float = 30.0) -> uvicorn.Config:  # noqa: ANN401 - an ASGI application
    """How an application is served."""
    return uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        lifespan="on",
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=max(1, round(drain)),
    )


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens, for asyncio.

    :raises ProxyConfigError: if the address cannot be used
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        made = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise ProxyConfigError(
            f"cannot listen on {host}:{port}: {error.strerror or error}; name others with --host and --port"
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
