"""The cassette of one test, replayed or recorded through HTTP clients of any kind."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolreel._errors import CassetteError, EndpointConfigError, MissingExtra
from toolreel._replay.replayer import Breaks, breaks_in
from toolreel._replay.taped_endpoint import TapedEndpoint
from toolreel._secrets.known_values import known_secrets
from toolreel.cassette._tape import Recording
from toolreel.cassette._transports import (
    AsyncRecordTransport,
    AsyncReplayTransport,
    RecordTransport,
    ReplayTransport,
)
from toolreel.http._endpoint import AsyncHttpEndpoint, HttpEndpoint
from toolreel.testing._files import ReelFiles

try:
    import httpx
except ImportError:
    raise MissingExtra.of("http", "httpx") from None

if TYPE_CHECKING:
    from toolreel.cassette._httpx2 import AsyncHttpx2Transport, Httpx2Transport

_REPLAY_URL: Final = "http://replay.invalid/v1"
"""Cassettes leave the host out of matching; this one cannot exist (RFC 2606)."""


@dataclass(frozen=True, slots=True)
class LiveSide:
    """The server to record from."""

    base_url: str | None = None
    api_key_env: str | None = None
    """Name of the environment variable that holds the key."""

    @property
    def api_key(self) -> str:
        """The key, if there is one."""
        return os.environ.get(self.api_key_env or "", "").strip()

    @property
    def secrets(self) -> dict[str, str]:
        """Values to keep out of recordings."""
        own = {str(self.api_key_env): self.api_key} if self.api_key else {}
        return known_secrets(os.environ) | own


class ReelTape:
    """Endpoints and transports for a test, which record or replay its cassette.

    :param recording: whether to record; otherwise the cassette is replayed
    """

    def __init__(self, files: ReelFiles, live: LiveSide | None = None, *, recording: bool = False) -> None:
        self.files: Final = files
        self.recording: Final = recording
        self.live: Final = live or LiveSide()
        self._tape: Recording | None = None
        self._endpoint: HttpEndpoint | None = None

    @property
    def base_url(self) -> str:
        """Base URL for a client: the live server's, or an invalid one while replaying.

        :raises EndpointConfigError: while recording, if no server is configured
        """
        if not self.recording:
            return _REPLAY_URL
        if not self.live.base_url:
            raise EndpointConfigError(
                "recording needs a model: name its server with --reel-live-url URL, or in TOOLREEL_LIVE_URL"
            )
        return self.live.base_url

    @property
    def api_key(self) -> str:
        """API key for a client: the live server's, or a placeholder while replaying; never recorded."""
        return (self.live.api_key if self.recording else "") or "none"

    @property
    def transport(self) -> httpx.BaseTransport:
        """A new transport for an ``httpx.Client``; any number of them share the recording."""
        if self.recording:
            return RecordTransport(self._loaded(), httpx.HTTPTransport())
        return ReplayTransport(self._loaded())

    @property
    def async_transport(self) -> httpx.AsyncBaseTransport:
        """A new transport for an ``httpx.AsyncClient``; any number of them share the recording."""
        if self.recording:
            return AsyncRecordTransport(self._loaded(), httpx.AsyncHTTPTransport())
        return AsyncReplayTransport(self._loaded())

    @property
    def httpx2_transport(self) -> Httpx2Transport:
        """The same as :attr:`transport`, for an ``httpx2.Client``, such as the openai SDK takes."""
        from toolreel.cassette._httpx2 import Httpx2Transport

        return Httpx2Transport(self.transport)

    @property
    def async_httpx2_transport(self) -> AsyncHttpx2Transport:
        """The same as :attr:`async_transport`, for an ``httpx2.AsyncClient``."""
        from toolreel.cassette._httpx2 import AsyncHttpx2Transport

        return AsyncHttpx2Transport(self.async_transport)

    @property
    def endpoint(self) -> HttpEndpoint:
        """An endpoint for a driver of your own; closed at the end of the test."""
        if self._endpoint is None:
            key = self.live.api_key_env if self.recording else None
            self._endpoint = HttpEndpoint(self.base_url, api_key_env=key, transport=self.transport)
        return self._endpoint

    @property
    def taped(self) -> TapedEndpoint | None:
        """An endpoint that replays the cassette without HTTP; ``None`` if there is no cassette."""
        return TapedEndpoint(self._loaded()) if self.files.cassette.exists() else None

    @property
    def breaks(self) -> Breaks:
        """The requests whose recorded exchange failed."""
        return breaks_in(self._loaded() if self.files.cassette.exists() else None)

    def async_endpoint(self) -> AsyncHttpEndpoint:
        """An async endpoint: ``async with reel.async_endpoint() as endpoint``."""
        key = self.live.api_key_env if self.recording else None
        return AsyncHttpEndpoint(self.base_url, api_key_env=key, transport=self.async_transport)

    def finish(self) -> None:
        """End the test: fail if the cassette was not used completely.

        :raises toolreel.ReplayMismatch: while replaying; names the unused or unrecorded requests
        """
        if not self.recording and (self._tape or self.files.cassette.exists()):
            self._loaded().finish()

    def save(self) -> tuple[Path, ...]:
        """Write the cassette if there were requests; return its path.

        :raises SecretFound: if it would contain a secret; nothing is written
        """
        if self._tape is None or not self._tape.total:
            self.files.cassette.unlink(missing_ok=True)
            return ()
        self._tape.save(self.live.secrets)
        return (self.files.cassette,)

    def close(self) -> None:
        """Close the connections of the endpoint."""
        if self._endpoint is not None:
            self._endpoint.close()

    def check_there(self) -> None:
        """Fail if there is nothing to replay.

        :raises CassetteError: if the recording is missing; names the file
        """
        if not self.recording and not self.files.exist:
            raise CassetteError(f"{self.files.cassette}: there is no recording of this test yet")

    def _loaded(self) -> Recording:
        if self._tape is None:
            self.check_there()
            make = Recording.blank if self.recording else Recording.load
            self._tape = make(self.files.cassette)
        return self._tape
