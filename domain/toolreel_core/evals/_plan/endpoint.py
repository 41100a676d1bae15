"""Endpoint, budget and prices of an evaluation."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Final, cast

from toolreel_core._internal.tables import Table
from toolreel_core._jsontext.canonical import Json

_OPENROUTER: Final = "https://openrouter.ai/api"
# Subdomains too, but not `openrouter.ai.example.com`: the key must not go to another host.
_HOST: Final = re.compile(r"https?://(?:[^/]*\.)?openrouter\.ai(?:[:/]|$)", re.IGNORECASE)
_CREDENTIAL: Final = re.compile(r"auth|cookie|key|secret|token", re.IGNORECASE)
_VERSION: Final = re.compile(r"v\d[\w.]*")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The server that requests go to. It is not part of a run's key."""

    base_url: str = _OPENROUTER
    api_prefix: str = "/v1"
    """Appended to a base URL that has no version yet."""
    api_key_env: str = ""
    """Name of the environment variable with the key; the key itself is never stored."""
    provider: str = ""
    """The provider whose presets apply; empty if unknown."""
    headers: tuple[tuple[str, str], ...] = ()
    """Further headers of each request, never a credential."""
    timeout: float = 120.0
    """Seconds for a whole exchange; 0 for no limit. The same holds for the other two."""
    open_timeout: float = 10.0
    """Seconds until the connection is open."""
    read_timeout: float = 120.0
    """Seconds until the next chunk of a reply."""

    @classmethod
    def of(cls, table: Table) -> Endpoint:
        """An endpoint as a plan's table has it.

        At OpenRouter, provider and key are known; anywhere else they have to be named, so that no key goes
        to a server that it is not for.

        :raises PlaceError: at the first thing that is wrong
        """
        table.only(*cls.__dataclass_fields__)
        base_url = table.text("base_url", _OPENROUTER).strip()
        if not re.match(r"https?://[^/@\s]+(?:/|$)", base_url):
            what = "expected http:// or https:// and a host, without user and password"
            raise table.complaint(f"{what}, got {base_url!r}", "base_url")
        known = bool(_HOST.match(base_url))
        timeout = cast("float", table.amount("timeout", 120.0))
        return cls(
            base_url.rstrip("/"),
            table.text("api_prefix", "/v1"),
            table.text("api_key_env", "OPENROUTER_API_KEY" if known else ""),
            table.text("provider", "openrouter" if known else ""),
            _headers(table.table("headers")),
            timeout,
            cast("float", table.amount("open_timeout", 10.0)),
            table.amount("read_timeout") or timeout,
        )

    @property
    def url(self) -> str:
        """The base URL, with the version appended unless it has one.

        >>> Endpoint("https://openrouter.ai/api").url, Endpoint("http://127.0.0.1:8080/v1").url
        ('https://openrouter.ai/api/v1', 'http://127.0.0.1:8080/v1')
        """
        prefix = self.api_prefix.strip("/")
        versioned = any(_VERSION.fullmatch(part) for part in self.base_url.split("/")[3:])
        return self.base_url if versioned or not prefix else f"{self.base_url}/{prefix}"

    def tree(self) -> dict[str, Json]:
        """The table that it is read from."""
        return {**asdict(self), "headers": dict(self.headers)}


@dataclass(frozen=True, slots=True)
class Budget:
    """Spending limits; ``None`` for no limit. Runs that hit one are void, not failed."""

    max_cost: float | None = None
    """Of the whole plan, in the provider's currency."""
    max_tokens: float | None = None
    max_minutes: float | None = None
    """From the first request on."""
    run_max_cost: float | None = None
    """Of one run, like the next two. These are limits of its loop, so they are part of its configuration."""
    run_max_tokens: float | None = None
    run_max_minutes: float | None = None

    @classmethod
    def of(cls, table: Table) -> Budget:
        """A budget as a plan's table has it, the caps of one run in its table ``run``.

        :raises PlaceError: at the first thing that is wrong
        """
        keys = ("max_cost", "max_tokens", "max_minutes")
        table.only(*keys, "run")
        run = table.table("run").only(*keys)
        for key in keys:
            if run.amount(key) == 0:
                raise run.complaint("expected more than 0; leave it out for no cap", key)
        return cls(*map(table.amount, keys), *map(run.amount, keys))

    def tree(self) -> dict[str, Json]:
        """The table that it is read from."""
        caps = {key: value for key, value in asdict(self).items() if value is not None}
        run = {key.removeprefix("run_"): value for key, value in caps.items() if key.startswith("run_")}
        return {**{key: value for key, value in caps.items() if not key.startswith("run_")}, "run": run}


@dataclass(frozen=True, slots=True)
class Price:
    """Price of a model per million tokens."""

    prompt: float
    completion: float

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float:
        """The cost of this many tokens.

        >>> Price(0.3, 1.2).cost(1_000_000, 500_000)
        0.9
        """
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / 1_000_000


def prices_of(table: Table) -> tuple[tuple[str, Price], ...]:
    """Prices by model, as a plan's table ``[prices."MODEL"]`` has them.

    :raises PlaceError: if one is half a price, or none
    """
    found = []
    for model, price in table.tables():
        parts = [price.only("prompt", "completion").amount(key) for key in ("prompt", "completion")]
        if None in parts:
            raise price.complaint("expected prompt and completion, for a million tokens each")
        found.append((model, Price(*cast("list[float]", parts))))
    return tuple(found)


def _headers(table: Table) -> tuple[tuple[str, str], ...]:
    for name in table.values:
        if _CREDENTIAL.search(name):
            raise table.complaint("leave credentials out; api_key_env names the key's variable", name)
    return tuple((name, table.text(name)) for name in table.values)
