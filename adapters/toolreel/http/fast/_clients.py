"""What the sync and the async endpoint share: the settings, and a client of pyreqwest for each timeout."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from toolreel._driver.ports import Listener
from toolreel._internal.errors import EndpointConfigError, MissingExtra
from toolreel._secrets.secret import Secret
from toolreel._secrets.urls import shown_url
from toolreel.http._request import DEADLINE, MAX_RESPONSE_BYTES, STALL_TIMEOUT, Address, address_in
from toolreel.http._request_headers import AUTHORIZATION, NO_HEADERS
from toolreel.http._response_reader import Intake
from toolreel_core._plan.request import Request
from toolreel_core._settings.chat_url import API_PREFIX
from toolreel_core._settings.wire_form import WireForm

try:
    from pyreqwest.http import Url
except ImportError:
    raise MissingExtra.of("fast", "pyreqwest") from None

if TYPE_CHECKING:
    from pyreqwest.client import BaseClientBuilder

_Builder = TypeVar("_Builder", bound="BaseClientBuilder")

_Kind: TypeAlias = tuple[WireForm, bool]
"""The form of a request, and whether it is streamed."""

_CONNECTIONS: Final = 1_000
"""Default maximum number of concurrent requests; further requests wait."""

_CONNECT_TIMEOUT: Final = 10.0
"""Default connect timeout, in seconds."""

_TIMEOUT: Final = 300.0
"""Default read timeout, in seconds; without streaming, nothing arrives before the reply is done."""


def _target(address: Address) -> Url:
    """The URL of an address, parsed once instead of for each request.

    :raises EndpointConfigError: if it is invalid
    """
    try:
        return Url(address.url)
    except ValueError as error:
        raise EndpointConfigError(f"base URL {shown_url(address.url)!r}: {error}") from None


_Client = TypeVar("_Client")


class FastClients(ABC, Generic[_Client]):
    """Settings and clients of both endpoints."""

    def __init__(  # noqa: PLR0913 - settings are keyword arguments
        self,
        base_url: str,
        *,
        api_key: str | Secret | None = None,
        api_key_env: str | None = None,
        api_prefix: str = API_PREFIX,
        headers: Mapping[str, str] = NO_HEADERS,
        api_key_header: str = AUTHORIZATION,
        timeout: float = _TIMEOUT,
        connect_timeout: float = _CONNECT_TIMEOUT,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
        stall_timeout: float = STALL_TIMEOUT,
        deadline: float = DEADLINE,
        on_delta: Listener | None = None,
        now: Callable[[], float] = time.monotonic,
        http2: bool = False,
        connections: int = _CONNECTIONS,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.address = Address.of(
            base_url,
            api_key_env,
            environ,
            api_prefix=api_prefix,
            headers=headers,
            api_key_header=api_key_header,
            api_key=api_key,
        )
        self._urls: dict[WireForm, Url] = {"chat_completions": _target(self.address)}
        self._intake = Intake(max_response_bytes, stall_timeout, on_delta, now, deadline)
        self._timeout, self._stall_timeout, self._connect_timeout = timeout, stall_timeout, connect_timeout
        self._connections, self._http2 = connections, http2
        # One client for streamed requests and one for others, as their timeouts differ, for each form.
        self._clients: dict[_Kind, _Client] = {
            ("chat_completions", False): self._build("chat_completions", streamed=False)
        }
        self._closed = False
        self._places: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()
        """Of an async endpoint, since a semaphore belongs to one event loop."""

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials in each request, by their place: nothing that says them back is recorded."""
        return self.address.secrets

    @abstractmethod
    def _build(self, form: WireForm, *, streamed: bool) -> _Client:
        """A client with the settings."""

    def _configured(self, builder: _Builder, form: WireForm, *, streamed: bool) -> _Builder:
        """The builder with the settings; when streaming, the read timeout is at most the stall timeout.

        :raises EndpointConfigError: if a setting is invalid
        """
        read_timeout = min(self._timeout, self._stall_timeout) if streamed else self._timeout
        try:
            builder.read_timeout(timedelta(seconds=read_timeout))
            builder.connect_timeout(timedelta(seconds=self._connect_timeout))
            builder.max_connections(self._connections)
            builder.default_headers(dict(address_in(form, self.address).headers))
        except ValueError as error:
            raise EndpointConfigError(f"invalid settings of the endpoint: {error}") from None
        # Not decompressed, since pyreqwest would do it without a limit.
        builder.http1_allow_obsolete_multiline_headers_in_responses(True)  # as h11 does
        builder.gzip(False).brotli(False).zstd(False).deflate(False)
        return builder.follow_redirects(False).referer(False).http2(self._http2)

    def _get(self, request: Request) -> _Client:
        """The client for a request; made at its first use."""
        if self._closed:
            raise RuntimeError("this endpoint is closed")
        kind = (request.form, request.streamed)
        if kind not in self._clients:
            self._clients[kind] = self._build(request.form, streamed=request.streamed)
        return self._clients[kind]

    def _url(self, request: Request) -> Url:
        if request.form not in self._urls:
            self._urls[request.form] = _target(address_in(request.form, self.address))
        return self._urls[request.form]

    def _take_all(self) -> list[_Client]:
        """The clients, to be closed; the next request makes a new one."""
        return [self._clients.pop(kind) for kind in (*self._clients,)]
