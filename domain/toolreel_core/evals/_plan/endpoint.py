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
from toolreel_core.evals._plan.keys import key, settings_of, values_in

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

    base_url: str = key(
        *("text", _OPENROUTER, "An OpenAI-compatible server.", "--base-url", "OPENROUTER_BASE_URL"),
        metavar="URL",
    )
    api_prefix: str = key(
        *("text", API_PREFIX, "Appended to a URL without a version; empty for none."),
        *("--api-prefix", "OPENROUTER_API_PREFIX"),
        metavar="PATH",
    )
    api_key_env: str = key(
        *("text", "", "The variable that holds the API key; of OpenRouter, OPENROUTER_API_KEY."),
        "--api-key-env",
        metavar="VAR",
    )
    api_key_header: str = key(
        *("text", "Authorization"),
        "Header that carries the key, such as api-key; in any but Authorization it goes without Bearer.",
        "--api-key-header",
        metavar="NAME",
    )
    provider: str = key(
        *("text", "", "The provider whose presets apply; openrouter at OpenRouter.", "--provider"),
        metavar="NAME",
    )
    timeout: float = key(
        *("seconds", 120.0, "Seconds for a whole exchange; 0: no limit.", "--timeout"),
        "OPENROUTER_CLIENT_TIMEOUT",
    )
    open_timeout: float = key(
        *("seconds", 10.0, "Seconds until the connection is open.", "--open-timeout"),
        "OPENROUTER_OPEN_TIMEOUT",
    )
    read_timeout: float | None = key(
        *("seconds", None, "Seconds until the next bytes arrive; as many as timeout, if you leave it out."),
        *("--read-timeout", "OPENROUTER_READ_TIMEOUT"),
    )
    headers: tuple[tuple[str, str], ...] = key(
        "texts", (), "Further headers of each request, never a credential."
    )
    headers_env: tuple[tuple[str, str], ...] = key(
        "texts", (), "Further headers, each with the variable that holds its value (--header)."
    )
    models: tuple[tuple[str, str], ...] = key("texts", (), "Models that have another name there.")
    request_overrides: JsonText = key(
        *("object", NOTHING),
        "Merged into each request that goes there, over the plan's: a route, a quantisation.",
    )
    prices: tuple[tuple[str, Price], ...] = key(
        "object", (), 'What models cost there, over the plan\'s: `prices."MODEL"`.'
    )

    @classmethod
    def of(cls, table: Table, name: str = "") -> Endpoint:
        """An endpoint as a plan's table has it.

        At OpenRouter, provider and key are known; anywhere else they have to be named, so that no key goes
        to a server that it is not for.

        :param name: empty for the one without a name
        :raises PlaceError: at the first thing that is wrong
        """
        given = values_in(ENDPOINT_KEYS, table)
        if name and not _NAME.fullmatch(name):
            raise table.complaint("a name of an endpoint has letters, digits, '_', '-' and '.', at most 64")
        if name and "base_url" not in given:
            raise table.complaint("is missing; write the URL of the server", "base_url")
        base_url = given.get("base_url", _OPENROUTER).strip()
        if not re.match(r"https?://[^/@\s]+(?:/|$)", base_url):
            what = "expected http:// or https:// and a host, without user and password"
            shown = re.sub(r"//[^/@]*@", "//", base_url.partition("?")[0])  # either may hold a secret
            raise table.complaint(f"{what}, got {shown!r}", "base_url")
        if any(_CREDENTIAL.search(name) for name in re.findall(r"[?&]([^=&]*)=", base_url)):
            raise table.complaint("leave credentials out; api_key_env names the key's variable", "base_url")
        if fault := prefix_fault(given.get("api_prefix", API_PREFIX)):
            raise table.complaint(fault, "api_prefix")
        headers, variables = dict(given.get("headers", ())), dict(given.get("headers_env", ()))
        for header in filter(_CREDENTIAL.search, headers):
            how = "api_key_env names the key's variable, headers_env those of headers"
            raise table.complaint(f"leave credentials out; {how}", "headers", header)
        for header, variable in variables.items():
            if not variable.strip():
                raise table.complaint("expected the name of an environment variable", "headers_env", header)
            if header.lower() in map(str.lower, headers):
                what = "it has a value in headers, too; leave out one of them"
                raise table.complaint(what, "headers_env", header)
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


ENDPOINT_KEYS: Final = settings_of(Endpoint, "endpoint")


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
