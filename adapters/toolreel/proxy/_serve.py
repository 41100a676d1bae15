"""Serves a proxy on a port until it is told to stop."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from typing import Final

from toolreel._internal.asgi_server import listening_on, serve_app
from toolreel._internal.errors import ProxyConfigError
from toolreel.proxy._app import proxy_app
from toolreel.proxy._recording.journal_queue import Tell
from toolreel.proxy._settings import ProxySettings

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
    serve_app(app, socket_, drain=drain, ready=lambda: ready(url), hurry=app.state.proxy.recorder.hurry)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens.

    :raises ProxyConfigError: if the address cannot be used
    """
    return listening_on(host, port, ProxyConfigError, "--listen HOST:PORT")
