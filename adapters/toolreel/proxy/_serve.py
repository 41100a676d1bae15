"""Serves a proxy on a port until it is told to stop."""

from __future__ import annotations

from collections.abc import Callable

from toolreel._internal.asgi_server import listening_on, serve_app
from toolreel._internal.errors import ProxyConfigError
from toolreel.proxy._app import proxy_app
from toolreel.proxy._recorder import Tell
from toolreel.proxy._settings import ProxySettings


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

    :param drain: seconds for requests that are under way
    :param ready: called with the base URL for clients, once requests are taken
    :raises ProxyConfigError: if the address cannot be used
    """
    app = proxy_app(settings, tell=tell)
    listening = listening_on(host, port, ProxyConfigError, "--listen HOST:PORT")
    bound = listening.getsockname()[1]
    named = f"[{host}]" if ":" in host else host
    serve_app(app, listening, drain=drain, ready=lambda: ready(f"http://{named}:{bound}/v1"))
