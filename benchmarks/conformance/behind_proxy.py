"""The proxy between a peer and the scripted provider: one for each run, as each has its own base URL."""

from __future__ import annotations

import socket
import time
from collections.abc import Generator, MutableMapping
from contextlib import contextmanager
from threading import Thread
from typing import Any

import uvicorn

from toolreel.proxy import Extras, ProxySettings, Route, proxy_app

__all__ = ["ASKING", "proxying"]

ASKING = Extras(retries=2, recover_empty=True, correct_arguments=1)
"""The repairs that cost a request of their own: ``--retries 2 --recover-empty --correct-arguments 1``."""
_VERSION = "/v1"


class _Proxies:
    """An application that passes ``/s/SHAPE/RUN/v1/...`` on to the same path of the provider."""

    def __init__(self, upstream: str, extras: Extras) -> None:
        self._upstream, self._extras = upstream, extras
        self._apps: dict[str, Any] = {}

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI
        run, _, rest = scope["path"].rpartition(_VERSION)
        if run not in self._apps:
            route = Route(f"{self._upstream}{run}{_VERSION}")
            self._apps[run] = proxy_app(ProxySettings((route,), extras=self._extras))
        await self._apps[run]({**scope, "path": f"{_VERSION}{rest}"}, receive, send)


@contextmanager
def proxying(upstream: str, *, asking: bool = False) -> Generator[str]:
    """The URL of the proxies, to put in the place of the provider's.

    :param asking: with the repairs that cost a request of their own
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(
            uvicorn.Config(
                _Proxies(upstream, ASKING if asking else Extras()),
                log_level="error",
                lifespan="off",
                ws="none",
                timeout_graceful_shutdown=1,
            )
        )
        thread = Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
