"""How connections and transports of our own are made: by the environment's certificates and proxy."""

from __future__ import annotations

import os
import ssl
from functools import cache, cached_property
from importlib.util import find_spec
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from toolreel._errors import EndpointConfigError, MissingExtra
from toolreel.http._connections.async_network import AsyncNetwork
from toolreel.http._connections.network import Network

try:
    import httpcore
    import httpx
except ImportError:
    raise MissingExtra.of("http", "httpx") from None

__all__ = ["KEPT", "Transports"]

KEPT: Final = 100
"""How many connections are kept while nothing is asked."""

_KEEP_ALIVE: Final = 60.0
"""Seconds for which one is kept: a tool may take its time, and a new connection has to shake hands."""


class Transports:
    """Makes what carries an endpoint's requests; what the environment says is looked up for the first.

    :param connections: as many as one transport may have, where it has more than one
    :raises EndpointConfigError: if that is none
    :raises MissingExtra: if HTTP/2 is wanted without the package that speaks it
    """

    def __init__(self, url: str, connections: int, *, http2: bool) -> None:
        if connections < 1:
            raise EndpointConfigError(f"connections must be at least 1, got {connections!r}")
        if http2 and find_spec("h2") is None:
            raise MissingExtra.of("http2", "h2")
        self._url = url
        self._http2 = http2
        self._limits = httpx.Limits(
            max_connections=connections, max_keepalive_connections=KEPT, keepalive_expiry=_KEEP_ALIVE
        )

    def one(self) -> httpx.BaseTransport:
        """A new transport.

        :raises EndpointConfigError: if the proxy that the environment names cannot be used
        """
        tls, proxy = self._surroundings
        return httpx.HTTPTransport(verify=tls, http2=self._http2, limits=self._limits, proxy=proxy)

    def async_one(self) -> httpx.AsyncBaseTransport:
        """The same, for async clients."""
        tls, proxy = self._surroundings
        return httpx.AsyncHTTPTransport(verify=tls, http2=self._http2, limits=self._limits, proxy=proxy)

    @property
    def direct(self) -> bool:
        """Whether connections suffice: without a proxy in between, and without HTTP/2."""
        return not self._http2 and self._surroundings[1] is None

    def connection(self, origin: httpcore.Origin) -> httpcore.ConnectionInterface:
        """A new connection of httpcore's, on which httpx's transports stand; it connects when it is asked."""
        tls, _ = self._surroundings
        return httpcore.HTTPConnection(origin, tls, keepalive_expiry=_KEEP_ALIVE, network_backend=Network())

    def async_connection(self, origin: httpcore.Origin) -> httpcore.AsyncConnectionInterface:
        """The same, for async clients."""
        tls, _ = self._surroundings
        return httpcore.AsyncHTTPConnection(
            origin, tls, keepalive_expiry=_KEEP_ALIVE, network_backend=AsyncNetwork()
        )

    @cached_property
    def _surroundings(self) -> tuple[ssl.SSLContext, httpx.Proxy | None]:
        tls = _tls(self._http2, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        return tls, _proxy(self._url)


@cache
def _tls(_http2: bool, _file: str | None, _folder: str | None) -> ssl.SSLContext:
    """The SSL context of a process: making one takes as long as a hundred turns.

    There is one for each version of HTTP, since connections tell it what they offer, and one for what the
    environment says of certificates, which httpx itself looks up.
    """
    return httpx.create_ssl_context()


def _proxy(url: str) -> httpx.Proxy | None:
    """The proxy that the environment names for an address."""
    parts = urlsplit(url)
    proxies = getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    if not named or proxy_bypass(parts.netloc):
        return None
    try:
        return httpx.Proxy(named if "://" in named else f"http://{named}")
    except (ValueError, httpx.InvalidURL):
        raise EndpointConfigError(
            f"the proxy that the environment names for {parts.scheme} cannot be used: expected http://, "
            "https:// or socks5:// and a host"
        ) from None
