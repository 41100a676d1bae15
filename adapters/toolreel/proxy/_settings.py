"""Settings of a proxy: where requests go, what is repaired, what is recorded, and the limits."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from toolreel._internal import ProxyConfigError, read_text_file, read_toml
from toolreel.http import EXCHANGE_DEADLINE, MAX_RESPONSE_BYTES, STALL_TIMEOUT, checked_chat_url, url_for_form
from toolreel.presets import chosen_preset
from toolreel_core._config_checks import Table
from toolreel_core._jsontext import Json
from toolreel_core._plan import Preset
from toolreel_core._proxy import Extras
from toolreel_core._settings import WireForm

RecordMode: TypeAlias = Literal["record", "replay", "auto"]
"""``record``: everything goes to the upstream, and is recorded; ``replay``: nothing does; ``auto``: what is
recorded is replayed, and what is not is recorded."""

Tell: TypeAlias = Callable[[Mapping[str, Json]], None]
"""Takes one entry of the log."""


@dataclass(frozen=True, slots=True)
class Route:
    """Where requests for some models go.

    :raises EndpointConfigError: if the URL cannot be used
    """

    upstream: str
    """Base URL of the server, with or without ``/v1``."""
    model: str = "*"
    """Name of a model, or a pattern such as ``qwen*``."""
    preset: Callable[[str], Preset] = field(default=lambda _model: Preset(), repr=False)
    """The preset for a model by its name; it says what is repaired."""
    upstream_model: str = ""
    """The upstream's name for the model; empty: the client's."""
    api_key_env: str = ""
    """Variable with the key for the upstream; empty: the client's own key goes on."""
    api_prefix: str = "/v1"
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the loop that decide how replies are read; they take precedence over the preset's."""

    def __post_init__(self) -> None:
        checked_chat_url(self.upstream, self.api_prefix)

    def url(self, form: WireForm) -> str:
        """The URL for requests of a form."""
        return url_for_form(form, checked_chat_url(self.upstream, self.api_prefix))

    def takes(self, model: str) -> bool:
        """Whether requests for this model go here."""
        return fnmatchcase(model, self.model)


@dataclass(frozen=True, slots=True)
class ProxyLimits:
    """What one request may take."""

    request_bytes: int = MAX_RESPONSE_BYTES
    response_bytes: int = MAX_RESPONSE_BYTES
    stall_seconds: float = STALL_TIMEOUT
    """Silence of the upstream, or of the model in a stream, after which the client gets an error."""
    deadline_seconds: float = EXCHANGE_DEADLINE
    """Time for one exchange with the upstream as a whole."""
    connections: int = 1_000
    """Requests to one upstream at once; further ones wait."""


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """All settings of a proxy.

    :raises ProxyConfigError: if they contradict each other
    """

    routes: tuple[Route, ...]
    """The first that takes a model is used."""
    folder: str | os.PathLike[str] | None = None
    """Where recordings are written and read."""
    mode: RecordMode = "record"
    extras: Extras = field(default_factory=Extras)
    limits: ProxyLimits = field(default_factory=ProxyLimits)
    token: str = field(default="", repr=False)
    """What clients have to show; empty: nothing."""
    hosts: tuple[str, ...] = ()
    """Names under which the proxy may be addressed; empty: any. Without a token, a page in a browser must not
    reach it under a name of its own."""

    def __post_init__(self) -> None:
        if not self.routes:
            raise ProxyConfigError("routes: expected at least one; write --upstream URL")
        if self.mode != "record" and self.folder is None:
            raise ProxyConfigError(f"mode {self.mode!r}: it needs the folder of the recordings")

    @property
    def replays(self) -> bool:
        """Whether no request may reach an upstream."""
        return self.mode == "replay"


def routes_in(path: Path) -> tuple[Route, ...]:
    text = read_text_file(path, ProxyConfigError, "there is no such file; correct --routes")
    return read_toml(str(path), text, _routes, ProxyConfigError)


def _routes(tree: object) -> tuple[Route, ...]:
    root = Table.of(tree).only("route")
    return tuple(_parse_route(pattern, table) for pattern, table in root.table("route").tables())


def _parse_route(pattern: str, table: Table) -> Route:
    table.only("upstream", "provider", "presets", "model", "api_key_env", "api_prefix", "settings")
    if not table.text("upstream"):
        raise table.error_at('expected the base URL of a server, such as upstream = "http://127.0.0.1:8080"')
    return Route(
        upstream=table.text("upstream"),
        model=pattern,
        preset=partial(chosen_preset, table.text("provider"), table.names("presets")),
        upstream_model=table.text("model"),
        api_key_env=table.text("api_key_env"),
        api_prefix=table.text("api_prefix", "/v1"),
        settings=dict(table.table("settings").values),
    )
