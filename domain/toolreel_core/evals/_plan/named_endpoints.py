"""Endpoints with names, as the tables ``[endpoints.NAME]`` have them: an axis of an evaluation.

The same model can be at several providers, under other spellings, at other quantisations, behind other
routes. Where a plan has such tables, each run is at one of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from typing import Final, cast

from toolreel_core._internal import PlaceError, Table
from toolreel_core._jsontext import NOTHING, Json, JsonText, Tree, parse
from toolreel_core._plan import reserved_keys
from toolreel_core._settings import API_PREFIX, Price, chat_url, prefix_fault
from toolreel_core.evals._plan.filters import Filter

_OPENROUTER: Final = "https://openrouter.ai/api"
# Subdomains too, but not `openrouter.ai.example.com`: the key must not go to another host.
_HOST: Final = re.compile(r"https?://(?:[^/]*\.)?openrouter\.ai(?:[:/]|$)", re.IGNORECASE)
_AUTHORIZATION: Final = "Authorization"
_CREDENTIAL: Final = re.compile(r"auth|cookie|key|secret|token", re.IGNORECASE)
"""Words in the names of headers whose values are secrets: a plan names variables for these."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The server that requests go to. It is not part of a run's key."""

    base_url: str = _OPENROUTER
    api_prefix: str = API_PREFIX
    """Appended to a base URL that has no version yet; empty for none."""
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
    headers_env: tuple[tuple[str, str], ...] = ()
    """Further headers of each request, each with the variable that holds its value; the value is never
    stored."""
    api_key_header: str = _AUTHORIZATION
    """The header that carries the key: bare, unless it is this one."""

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
            shown = re.sub(r"//[^/@]*@", "//", base_url.partition("?")[0])  # either may hold a secret
            raise table.complaint(f"{what}, got {shown!r}", "base_url")
        if any(_CREDENTIAL.search(name) for name in re.findall(r"[?&]([^=&]*)=", base_url)):
            raise table.complaint("leave credentials out; api_key_env names the key's variable", "base_url")
        api_prefix = table.text("api_prefix", API_PREFIX)
        if fault := prefix_fault(api_prefix):
            raise table.complaint(fault, "api_prefix")
        known = bool(_HOST.match(base_url))
        timeout = cast("float", table.amount("timeout", 120.0))
        headers, variables = table.table("headers"), table.table("headers_env")
        for name in headers.values:
            if _CREDENTIAL.search(name):
                how = "api_key_env names the key's variable, headers_env those of headers"
                raise headers.complaint(f"leave credentials out; {how}", name)
        taken = {name.lower() for name in headers.values}
        for name in variables.values:
            if not variables.text(name).strip():
                raise variables.complaint("expected the name of an environment variable", name)
            if name.lower() in taken:
                raise variables.complaint("it has a value in headers, too; leave out one of them", name)
        return cls(
            base_url.rstrip("/"),
            api_prefix,
            table.text("api_key_env", "OPENROUTER_API_KEY" if known else ""),
            table.text("provider", "openrouter" if known else ""),
            tuple((name, headers.text(name)) for name in headers.values),
            timeout,
            cast("float", table.amount("open_timeout", 10.0)),
            table.amount("read_timeout") or timeout,
            tuple((name, variables.text(name).strip()) for name in variables.values),
            table.text("api_key_header", _AUTHORIZATION),
        )

    @property
    def chat_url(self) -> str:
        """The URL that requests go to.

        >>> Endpoint("https://a.test/openai?api-version=1", api_prefix="").chat_url
        'https://a.test/openai/chat/completions?api-version=1'
        """
        return chat_url(self.base_url, self.api_prefix)

    def tree(self) -> dict[str, Json]:
        """The table that it is read from. Keys added later are in it only if they are used."""
        tree: dict[str, Json] = {
            **asdict(self),
            "headers": dict(self.headers),
            "headers_env": dict(self.headers_env),
        }
        newer: dict[str, Json] = {"headers_env": {}, "api_key_header": _AUTHORIZATION}
        return {key: value for key, value in tree.items() if key not in newer or value != newer[key]}


_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
"""The name of an endpoint, which is also a part of file names."""
_OWN: Final = ("models", "request_overrides", "prices")


@dataclass(frozen=True, slots=True)
class NamedEndpoint:
    """One of several endpoints."""

    name: str
    server: Endpoint
    models: tuple[tuple[str, str], ...] = ()
    """Models that have another name there: by the name in the plan, the name that is sent."""
    request_overrides: JsonText = NOTHING
    """What is merged into every body that goes there, over the plan's; a JSON object."""
    prices: tuple[tuple[str, Price], ...] = ()
    """What models cost there, by their names in the plan; others cost what the plan says."""

    @classmethod
    def of(cls, name: str, table: Table) -> NamedEndpoint:
        """An endpoint as a plan's table has it.

        :raises PlaceError: at the first thing that is wrong
        """
        if not _NAME.fullmatch(name):
            what = "a name of an endpoint has letters, digits, '_', '-' and '.', at most 64"
            raise PlaceError((*table.place,), what)
        table.only(*Endpoint.__dataclass_fields__, *_OWN)
        if "base_url" not in table.values:
            raise table.complaint("is missing; write the URL of the server", "base_url")
        models = table.table("models")
        server = {key: value for key, value in table.values.items() if key not in _OWN}
        return cls(
            name,
            Endpoint.of(Table(table.place, server)),
            tuple((model, models.text(model)) for model in models.values),
            overrides_of(table.table("request_overrides")),
            prices_of(table.table("prices")),
        )

    def tree(self) -> dict[str, Json]:
        """The table that it is read from."""
        own: dict[str, Json] = {
            "models": dict(self.models),
            "request_overrides": parse(self.request_overrides),
            "prices": prices_tree(self.prices),
        }
        return {**self.server.tree(), **{key: value for key, value in own.items() if value}}


def named_endpoints(tree: Tree) -> tuple[NamedEndpoint, ...]:
    """The endpoints of a whole plan, in its order.

    :raises PlaceError: at the first thing that is wrong, also if there is a nameless one next to them
    """
    whole = Table.of(tree)
    found = tuple(NamedEndpoint.of(name, table) for name, table in whole.table("endpoints").tables())
    beside = whole.table("endpoint").values
    if found and beside:
        what = "the plan has tables [endpoints.NAME], each of which says where it is; leave this out"
        raise PlaceError(("endpoint", next(iter(beside))), what)
    return found


def selected_endpoints(
    endpoints: Collection[NamedEndpoint], words: tuple[str, ...]
) -> tuple[NamedEndpoint, ...]:
    """The endpoints that a filter leaves; all of them if it is empty.

    :raises PlaceError: if it is about endpoints, and there are none with names
    :raises ConfigError: if it leaves none
    """
    if words and not endpoints:
        raise PlaceError(("eval", "endpoints"), "the plan has no tables [endpoints.NAME] to choose from")
    if not words:
        return tuple(endpoints)
    return Filter(words).select("endpoint", tuple(endpoints), lambda each: (each.name,))


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
