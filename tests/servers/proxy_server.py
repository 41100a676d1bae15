"""A real proxy on this machine, in a thread of the test."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Thread

import uvicorn
from starlette.types import ASGIApp

from tests.patience import eventually
from toolreel._internal import listening_socket, server_config
from toolreel.proxy import MAX_CLIENTS, ProxySettings, proxy_app
from toolreel_core._jsontext import Json


@dataclass(slots=True)
class ProxyServer:
    """What the proxy is known by, and what it has logged."""

    url: str
    """Base URL for clients."""
    log: list[dict[str, Json]] = field(default_factory=list)


@contextmanager
def served(app: ASGIApp, connections: int = MAX_CLIENTS, *, lifespan: bool = True) -> Generator[str]:
    """The URL of an ASGI application that is served in a thread."""
    with listening_socket("127.0.0.1", 0) as socket_:
        config = server_config(app, connections=connections, drain=60, lifespan=lifespan)
        server = uvicorn.Server(config)
        thread = Thread(target=server.run, kwargs={"sockets": [socket_]})
        thread.start()
        eventually(lambda: server.started or not thread.is_alive(), "the server has started")
        try:
            yield f"http://127.0.0.1:{socket_.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def proxying(settings: ProxySettings) -> Generator[ProxyServer]:
    """A proxy with these settings, to its graceful end."""
    log: list[dict[str, Json]] = []
    with served(proxy_app(settings, tell=lambda entry: log.append(dict(entry)))) as url:
        yield ProxyServer(f"{url}/v1", log)
