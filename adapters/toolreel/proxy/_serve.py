"""Serves a proxy on a port until it is told to stop, and lets requests that are under way end."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Final

import uvicorn

from toolreel._internal import ProxyConfigError, listening, server_config
from toolreel.proxy._app import proxy_app
from toolreel.proxy._recording.journal_queue import Tell
from toolreel.proxy._settings import ProxySettings

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
CONNECTIONS: Final = 2_000
"""Connections of clients at once: as many requests as one upstream takes, and as many that wait."""
_FILES: Final = 2 * CONNECTIONS + 96
"""What the process may have open: these, the connections to upstreams, and recordings. Shells allow 1,024."""
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
    try:
        socket_ = listening(host, port)
    except OSError as error:
        raise ProxyConfigError(
            f"cannot listen on {host}:{port}: {error.strerror or error}; name others with --host and --port"
        ) from None
    _allow_files()
    bound = socket_.getsockname()[1]
    named = f"[{host}]" if ":" in host else host
    if settings.folder is not None:  # a thread writes recordings, and would hold up each request by 5 ms
        sys.setswitchinterval(_SWITCH)
    url = f"http://{named}:{bound}/v1"
    with socket_:
        # The second Ctrl-C calls `hurry` in a handler of signals, so that takes no lock.
        config = server_config(app, connections=CONNECTIONS, drain=drain, lifespan=True)
        server = _Server(config, lambda: ready(url), app.state.proxy.recorder.hurry)
        server.run(sockets=[socket_])


def _allow_files() -> None:
    """Raise the soft limit of open files, as far as the hard one allows."""
    if sys.platform != "win32":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


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
