"""Endpoints: where runs are made. With names, they are an axis of an evaluation.

The same model can be at several providers, under other spellings, at other quantisations, behind other
routes. Where a plan has tables ``[endpoints.NAME]``, each run is made at each of them; else at the one of
``[endpoint]``, which has no name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Final

from toolreel_core._config_checks import Table
from toolreel_core._jsontext import NOTHING, Json, JsonText, parse
from toolreel_core._plan import reserved_keys
from toolreel_core._settings import API_PREFIX, Price, chat_url, prefix_fault
from toolreel_core.evals._plan.keys import keys_in, values_in

_OPENROUTER: Final = "https://openrouter.ai/api"
# Subdomains too, but not `openrouter.ai.example.com`: the key must not go to another host.
_HOST: Final = re.compile(r"https?://(?:[^/]*\.)?openrouter\.ai(?:[:/]|$)", re.IGNORECASE)
_CREDENTIAL: Final = re.compile(r"auth|cookie|key|secret|token", re.IGNORECASE)
"""Words in the names of headers whose values are secrets: a plan names variables for these."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
"""The name of an endpoint, which is also a part of file names."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The server that requests go to. It is not part of a run's key."""

    base_url: str = _OPENROUTER
    api_prefix: str = API_PREFIX
    api_key_env: str = ""
    """The variable that holds the key."""
    api_key_header: str = "Authorization"
    provider: str = ""
    """Whose presets apply."""
    timeout: float = 120.0
    """Seconds; 0: no limit, as of the next two."""
    open_timeout: float = 10.0
    read_timeout: float | None = None
    headers: tuple[tuple[str, str], ...] = ()
    headers_env: tuple[tuple[str, str], ...] = ()
    """Headers, each with the variable that holds its value."""
    models: tuple[tuple[str, str], ...] = ()
    """Models that have another name there."""
    request_overrides: JsonText = NOTHING
    prices: tuple[tuple[str, Price], ...] = ()

    @classmethod
    def of(cls, table: Table, name: str = "") -> Endpoint:
        """An endpoint as a plan's table has it.

        At OpenRouter, provider and key are known; anywhere else they have to be named, so that no key goes
        to a server that it is not for.

        :param name: empty for the one without a name
        :raises PlaceError: at the first thing that is wrong
        """
        given = values_in(_KEYS, table)
        if name and not _NAME.fullmatch(name):
            raise table.complaint("a name of an endpoint has letters, digits, '_', '-' and '.', at most 64")
        if name and "base_url" not in given:
            raise table.complaint("is missing; write the URL of the server", "base_url")
        base_url = given.get("base_url", _OPENROUTER).strip()
        if not re.match(r"https?://[^/@\s]+(?:/|$)", base_url):
            what = "expected http:// or https:// and a host, without user and password"
            shown = re.sub(r"//[^/@]*@", "//", base_url.partition("?")[0])  # either may hold a secret
            raise table.complaint(f"{what}, got {shown!r}", "base_url")
        without = "leave credentials out; api_key_env names the key's variable, headers_env those of headers"
        if any(_CREDENTIAL.search(name) for name in re.findall(r"[?&]([^=&]*)=", base_url)):
            raise table.complaint(without, "base_url")
        for header in filter(_CREDENTIAL.search, dict(given.get("headers", ()))):
            raise table.complaint(without, "headers", header)
        if fault := prefix_fault(given.get("api_prefix", API_PREFIX)):
            raise table.complaint(fault, "api_prefix")
        known = {"api_key_env": "OPENROUTER_API_KEY", "provider": "openrouter"}
        read = {
            **(known if _HOST.match(base_url) else {}),
            **given,
            "base_url": base_url.rstrip("/"),
            "read_timeout": given.get("read_timeout") or given.get("timeout", 120.0),
            "request_overrides": overrides_of(table.table("request_overrides")),
            "prices": prices_of(table.table("prices")),
        }
        return cls(**read)

    @property
    def chat_url(self) -> str:
        """The URL that requests go to.

        >>> Endpoint("https://a.test/openai?api-version=1", api_prefix="").chat_url
        'https://a.test/openai/chat/completions?api-version=1'
        """
        return chat_url(self.base_url, self.api_prefix)

    def tree(self) -> dict[str, Json]:
        """The table that it is read from."""
        texts = {name: dict(getattr(self, name)) for name in ("headers", "headers_env", "models")}
        overrides, prices = parse(self.request_overrides), prices_tree(self.prices)
        return {**asdict(self), **texts, "request_overrides": overrides, "prices": prices}


_KEYS: Final = keys_in("endpoint")


def overrides_of(table: Table) -> JsonText:
    """Overrides of the body.

    :raises PlaceError: if one is of a key that the run itself sets
    """
    if ignored := reserved_keys(table.values):
        raise table.complaint("it is set by the run itself; leave it out", ignored[0])
    return table.json()


def prices_of(table: Table) -> tuple[tuple[str, Price], ...]:
    """Prices by model, as a plan's table ``[prices."MODEL"]`` has them.

    :raises PlaceError: if one is half a price, or none
    """
    found = []
    for model, price in table.tables():
        prompt, completion = map(price.only("prompt", "completion").amount, ("prompt", "completion"))
        if prompt is None or completion is None:
            raise price.complaint("expected prompt and completion, for a million tokens each")
        found.append((model, Price(prompt, completion)))
    return tuple(found)


def prices_tree(prices: Iterable[tuple[str, Price]]) -> dict[str, Json]:
    """The table that they are read from."""
    return {model: {"prompt": price.input, "completion": price.output} for model, price in prices}
