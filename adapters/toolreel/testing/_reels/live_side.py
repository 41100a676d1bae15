"""The live side of a reel: the server that it records from."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from toolreel._secrets import key_as_secret, key_notice, known_secrets


@dataclass(frozen=True, slots=True)
class LiveSide:
    """The server to record from."""

    base_url: str | None = field(default=None, repr=False)
    api_key_env: str | None = None
    """Name of the environment variable that holds the key."""

    @property
    def api_key(self) -> str:
        """The key, if there is one."""
        return os.environ.get(self.api_key_env or "", "").strip()

    @property
    def secrets(self) -> dict[str, str]:
        """Values to keep out of recordings."""
        return known_secrets(os.environ) | key_as_secret(str(self.api_key_env), self.api_key)

    @property
    def key_notice(self) -> str:
        """What to say about a key for which recordings are not searched; empty if there is nothing to say."""
        return key_notice(str(self.api_key_env), self.api_key)
