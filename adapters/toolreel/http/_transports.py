"""How httpx's transports are made for an endpoint: with the certificates and the proxy of the environment."""

from __future__ import annotations

import os
import ssl
from functools import cache
from importlib.util import find_spec
from typing import Final, TypeAlias, TypedDict
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from toolreel._errors import EndpointConfigError, MissingExtra
from toolreel.http._pool import EXPIRY, KEPT, AsyncPool, Pool

try:
    import httpx
except ImportError:
    raise MissingExtra.of("http", "httpx") from None

__all__ = ["CONNECTIONS", "AnyProxy", "async_transport", "sync_transport"]

CONNECTIONS: Final = 1_000
"""Maximum number of concurrent requests of an endpoint; further requests wait."""

AnyProxy: TypeAlias = "str | httpx.URL | httpx.Proxy"


class _Settings(TypedDict):
    verify: ssl.SSLContext
    proxy: httpx.Proxy | None
    http2: bool
    limits: httpx.Limits


def sync_transport(url: str, *, proxy: AnyProxy | None, http2: bool, connections: int) -> httpx.BaseTransport:
    """The transport for all requests to a URL.

    With HTTP/2, one connection carries many requests, so one transport of httpx is enough.

    :param proxy: goes before the one that the environment names
    :raises EndpointConfigError: if the proxy or the number of connections cannot be used
    :raises MissingExtra: if HTTP/2 is wanted without the package that speaks it
    """
    settings = _settings(url, proxy, connections, http2=http2)
    if http2:
        return httpx.HTTPTransport(**settings)
    return Pool(lambda: httpx.HTTPTransport(**settings), connections)


def async_transport(
    url: str, *, proxy: AnyProxy | None, http2: bool, connections: int
) -> httpx.AsyncBaseTransport:
    """The same as :func:`sync_transport`, for async clients."""
    settings = _settings(url, proxy, connections, http2=http2)
    if http2:
        return httpx.AsyncHTTPTransport(**settings)
    return AsyncPool(lambda: httpx.AsyncHTTPTransport(**settings), connections)


def _settings(url: str, proxy: AnyProxy | None, connections: int, *, http2: bool) -> _Settings:
    if connections < 1:
        raise EndpointConfigError(f"connections must be at least 1, got {connections!r}")
    if http2 and find_spec("h2") is None:
        raise MissingExtra.of("http2", "h2")
    return {
        "verify": _tls(http2, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")),
        "proxy": _explicit_proxy(proxy) if proxy is not None else _proxy_of_environment(url),
        "http2": http2,
        "limits": httpx.Limits(
            max_connections=connections if http2 else 1,
            max_keepalive_connections=KEPT,
            keepalive_expiry=EXPIRY,
        ),
    }


@cache
def _tls(_http2: bool, _file: str | None, _folder: str | None) -> ssl.SSLContext:
    """The SSL context of a process: making one takes 20 ms.

    There is one for each version of HTTP, since connections tell it what they offer, and one for what the
    environment says of certificates, which httpx itself looks up.
    """
    return httpx.create_ssl_context()


def _explicit_proxy(proxy: AnyProxy) -> httpx.Proxy:
    try:
        return proxy if isinstance(proxy, httpx.Proxy) else httpx.Proxy(proxy)
    except (ValueError, httpx.InvalidURL):  # its text may hold a password
        raise EndpointConfigError(f"the proxy cannot be used: {_EXPECTED}") from None


def _proxy_of_environment(url: str) -> httpx.Proxy | None:
    """The proxy that the environment names for an address.

    httpx looks this up only for a client without a transport of its own, by a private function; the standard
    library reads the same variables. An endpoint has one address, so one proxy is all that it needs.
    """
    parts = urlsplit(url)
    proxies = getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    if not named or proxy_bypass(parts.netloc):
        return None
    try:
        return httpx.Proxy(named if "://" in named else f"http://{named}")
    except (ValueError, httpx.InvalidURL):
        raise EndpointConfigError(
            f"the proxy that the environment names for {parts.scheme} cannot be used: {_EXPECTED}"
        ) from None


_EXPECTED: Final = "expected http://, https:// or socks5:// and a host"
