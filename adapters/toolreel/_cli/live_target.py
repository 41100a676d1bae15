"""The server of a live run, and those of its fallbacks."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from toolreel._driver import Endpoint, Endpoints, Listener
from toolreel._internal import MissingExtra
from toolreel._secrets import key_as_secret, key_notice, known_secrets
from toolreel.http import AUTHORIZATION, Address, HttpEndpoint, header_values
from toolreel_core._settings import API_PREFIX

if TYPE_CHECKING:
    from toolreel.cassette import Session

try:
    import httpx
except ImportError:
    raise MissingExtra.of("http", "httpx") from None


@dataclass(frozen=True, slots=True)
class LiveTarget:
    """The server of a live run."""

    base_url: str = field(repr=False)
    """Its query may hold a key, so that it has no ``repr``."""
    api_key_env: str | None = None
    timeout: float = 300.0
    """Seconds to wait for a reply, or for the next chunk of a streamed reply."""
    withheld: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Further secrets to keep out of recordings, such as credentials of tools, by name."""
    api_prefix: str = API_PREFIX
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further headers of each request, by name, and the environment variables that hold their values."""
    api_key_header: str = AUTHORIZATION
    fallbacks: Mapping[str, LiveTarget] = field(default_factory=dict)
    """The servers of the plan's fallbacks, by their names."""

    @property
    def secrets(self) -> dict[str, str]:
        """Values to keep out of recordings and off the terminal.

        The API key, what the URL and the headers hold, variables that look like secrets, and the credentials
        of tools.

        :raises EndpointConfigError: if the URL is invalid, or the variable of a header is not set
        """
        sent = Address.of(
            self.base_url, None, api_prefix=self.api_prefix, headers=header_values(self.headers, os.environ)
        ).secrets
        own = (key_as_secret(name, value) for name, value in self._header_values)
        others = (there.secrets for there in self.fallbacks.values())
        return reduce(or_, (*own, *others), known_secrets(os.environ) | sent) | dict(self.withheld)

    @property
    def key_notice(self) -> str:
        """What to say about a key for which recordings are not searched; empty if there is nothing to say."""
        others = (there.key_notice for there in self.fallbacks.values())
        return "\n".join(
            filter(None, (*(key_notice(name, value) for name, value in self._header_values), *others))
        )

    @property
    def _header_values(self) -> tuple[tuple[str, str], ...]:
        """The values of the variables that are sent."""
        names = (self.api_key_env or "", *self.headers.values())
        return tuple((name, os.environ.get(name, "")) for name in names)

    @contextmanager
    def opened(self, on_delta: Listener | None, tape: Session | None) -> Generator[Endpoint]:
        """The endpoint of the server, with those of the fallbacks."""
        with ExitStack() as stack:
            first, *others = (
                stack.enter_context(
                    HttpEndpoint(
                        there.base_url,
                        api_key_env=there.api_key_env,
                        api_prefix=there.api_prefix,
                        headers=header_values(there.headers, os.environ),
                        api_key_header=there.api_key_header,
                        timeout=httpx.Timeout(min(30.0, there.timeout), read=there.timeout),
                        stall_timeout=there.timeout,
                        on_delta=on_delta,
                        transport=tape.transport() if tape else None,
                    )
                )
                for there in (self, *self.fallbacks.values())
            )
            yield Endpoints(first, dict(zip(self.fallbacks, others, strict=True))) if others else first
