"""Makes the default httpx transports, with the certificates and the proxy that the environment names."""

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

    With HTTP/2, one connection carries many requests, so one httpx transport is enough.

    :param proxy: overrides the proxy that the environment names
    :raises EndpointConfigError: if the proxy or the number of connections is invalid
    :raises MissingExtra: if HTTP/2 is requested and its package is not installed
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
    """A shared SSL context: making one takes 20 ms.

    The parameters are only cache keys. There is one context for each version of HTTP, since httpcore sets the
    offered protocols (ALPN) on the context, and one for each certificate setting, which httpx reads itself.
    """
    return httpx.create_ssl_context()


def _explicit_proxy(proxy: AnyProxy) -> httpx.Proxy:
    try:
        return proxy if isinstance(proxy, httpx.Proxy) else httpx.Proxy(proxy)
    except (ValueError, httpx.InvalidURL):  # not quoted: its text may contain a password
        raise EndpointConfigError(f"invalid proxy: {_EXPECTED}") from None


def _proxy_of_environment(url: str) -> httpx.Proxy | None:
    """The proxy that the environment variables name for a URL.

    httpx does this only for clients without a transport, in a private function; the standard library reads
    the same variables. An endpoint has one URL, so it needs one proxy at most.
    """
    parts = urlsplit(url)
    proxies = getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    if not named or proxy_bypass(parts.netloc):  # no_proxy
        return None
    try:
        return httpx.Proxy(named if "://" in named else f"http://{named}")
    except (ValueError, httpx.InvalidURL):
        raise EndpointConfigError(
            f"the environment names an invalid proxy for {parts.scheme}: {_EXPECTED}"
        ) from None


_EXPECTED: Final = "expected http://, https:// or socks5:// and a host"
