"""The settings of an agent besides its model and its output, those of its fallbacks, and their kinds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypedDict
from urllib.parse import urlsplit

from toolreel._agent.offered_tools import AgentTools, Approve
from toolreel._driver import AsyncEndpoint, Endpoint
from toolreel._internal import EndpointConfigError
from toolreel._secrets import Secret, url_safe_to_log
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json
from toolreel_core._plan import REASONS, FallbackReason, ForeignReasoning, Preset
from toolreel_core._settings import LoopConfig, Price

PresetLike: TypeAlias = str | Path | Iterable[str | Path] | Preset | None
"""A preset by name or file, or several, on top of the provider's; a :class:`Preset` instead of all."""


@dataclass(frozen=True, slots=True, repr=False)
class Fallback:
    """A model, and its server, where an agent's run goes on when the endpoint before fails.

    ::

        Agent("model-a", base_url=url, fallbacks=[Fallback("model-b", base_url=other, provider="groq")])

    Without ``base_url`` and ``endpoint``, it is another model at the agent's own server.
    """

    model: str
    """The model's name, as its server knows it."""
    _: KW_ONLY
    name: str = ""
    """Names the endpoint in notes and recordings; by default the model's name."""
    base_url: str | None = None
    """URL of another server; it gets the keys and headers that are named here, and none of the agent's."""
    provider: str = ""
    """The provider whose presets apply here; at the agent's server, by default the agent's."""
    preset: PresetLike = None
    """Presets by name, or TOML files with presets, on top of those."""
    api_key: str | Secret | None = None
    """The API key itself; it is never shown, recorded or pickled."""
    api_key_env: str | None = None
    """The variable that holds the key; by default none, and ``OPENAI_API_KEY`` for OpenAI."""
    headers: Mapping[str, str | Secret] | None = None
    """Further headers of each request here."""
    options: Mapping[str, Json] | None = None
    """Further keys of the request here, such as ``temperature``."""
    config: LoopConfig | Mapping[str, Any] | None = None
    """Settings here, such as ``max_tries``; the limits of the run are those of the agent."""
    price: Price | None = None
    """What the model costs; by default, the catalogue's price."""
    endpoint: Endpoint | AsyncEndpoint | None = None
    """An endpoint of your own instead of a server; it stays open."""
    on: Iterable[FallbackReason] = REASONS
    """The reasons that lead here, such as ``["timeout", "server_error"]``; by default, all."""
    foreign_reasoning: ForeignReasoning = "pin"
    """``"drop"``: the history goes here without signatures that only the endpoint before can read; by
    default, a history that has them stays there."""

    def __repr__(self) -> str:
        where = "" if self.base_url is None else f", base_url={url_safe_to_log(self.base_url)!r}"
        return f"Fallback({self.model!r}{where})"


class AgentSettings(TypedDict, total=False):
    base_url: str | None
    tools: AgentTools
    instructions: str
    provider: str
    preset: PresetLike
    api_key: str | Secret | None
    api_key_env: str | None
    headers: Mapping[str, str | Secret] | None
    options: Mapping[str, Json] | None
    config: LoopConfig | Mapping[str, Any] | None
    price: Price | None
    seed: int
    endpoint: Endpoint | AsyncEndpoint | None
    approve: Approve | None
    fallbacks: Sequence[Fallback]


_KINDS: Mapping[str, tuple[type, ...]] = {
    "model": (str,),
    "seed": (int,),
    "base_url": (str,),
    "instructions": (str,),
    "provider": (str,),
    "api_key": (str, Secret),
    "api_key_env": (str,),
    "headers": (Mapping,),
    "options": (Mapping,),
    "config": (LoopConfig, Mapping),
    "price": (Price,),
    "preset": (str, Path, Iterable, Preset),
    "fallbacks": (Sequence,),
    "name": (str,),
    "on": (list, tuple, Set),
    "description": (str,),
    "reason": (str,),
    "record": (str, Path),
    "overwrite": (bool,),
}
_NEEDED = {"model", "seed", "name", "description", "reason", "overwrite"}
"""Those that may not be ``None``."""


def check_types(**given: object) -> None:
    for name, kinds in _KINDS.items():
        value = given.get(name)
        if name in given and (value is not None or name in _NEEDED) and not isinstance(value, kinds):
            expected = " or ".join(kind.__name__ for kind in kinds)
            raise ConfigError(f"{name}: expected {expected}, got {type(value).__name__}")
    if not str(given.get("model", "-")).strip():
        raise ConfigError("model: expected the name of a model, got an empty text")
    headers = given.get("headers")
    for name, value in headers.items() if isinstance(headers, Mapping) else ():
        if not isinstance(value, (str, Secret)):
            raise ConfigError(f"headers: expected a text for {name}, got {type(value).__name__}")


def merged_preset(given: PresetLike, provider: str, model: str) -> Preset:
    if isinstance(given, Preset):
        return given
    from toolreel.presets import (  # read by few programs before a run
        merge_named_presets,
        preset_for_provider,
        with_files,
    )

    collection = with_files()
    names = [given] if isinstance(given, str | Path) else [*(given or ())]
    for number, name in enumerate(names):
        if not isinstance(name, str | Path):
            raise ConfigError(f"preset[{number}]: expected a name or a file, got {type(name).__name__}")
    try:
        own = preset_for_provider(collection, provider, model) if provider else collection.for_("", model)
    except ConfigError as error:
        raise ConfigError(f"provider: {error}") from None
    return own.merged(merge_named_presets(collection, names))


URL_VARIABLES = ("TOOLREEL_BASE_URL", "OPENAI_BASE_URL")
KEY_VARIABLE = "TOOLREEL_API_KEY"
OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"
_OPENAI = "https://api.openai.com"


def server_settings(
    base_url: str | None, api_key: Secret | None, api_key_env: str | None, *, own_key: bool
) -> tuple[str, Secret | None, str | None]:
    """The server that the arguments name, else ``TOOLREEL_*``, else ``OPENAI_*``: URL, key and its variable.

    ``OPENAI_API_KEY`` goes to OpenAI and to the server of ``OPENAI_BASE_URL`` only: it is in many
    environments, and no other server shall get it.

    :param own_key: whether ``TOOLREEL_API_KEY`` is the key of this server
    """
    said = {name: value for name, value in os.environ.items() if value.strip()}
    url = base_url or next((said[name] for name in URL_VARIABLES if name in said), "")
    if not url.strip():
        raise EndpointConfigError(
            'no server is named: write Agent(..., base_url="http://127.0.0.1:8080/v1"), or set '
            f"{' or '.join(URL_VARIABLES)}"
        )
    if api_key is not None or api_key_env is not None:
        return url, api_key, api_key_env
    if own_key and KEY_VARIABLE in said:
        return url, None, KEY_VARIABLE
    is_openai = _url_origin(url) in {_url_origin(_OPENAI), _url_origin(said.get("OPENAI_BASE_URL", ""))}
    return url, None, OPENAI_KEY_VARIABLE if OPENAI_KEY_VARIABLE in said and is_openai else None


def _url_origin(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url.strip())
    except ValueError:  # the endpoint says what is wrong with it
        return "", ""
    return parts.scheme.lower(), parts.netloc.lower()
