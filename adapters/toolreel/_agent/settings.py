"""The settings of an agent besides its model and its output, those of its fallbacks, and their kinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final, TypeAlias, TypedDict

from toolreel._agent.approval import Approve
from toolreel._agent.offered_tools import AgentTools
from toolreel._driver import AsyncEndpoint, Endpoint
from toolreel._secrets import Secret, shown_url
from toolreel.presets import with_files
from toolreel_core._errors import ConfigError
from toolreel_core._internal import unknown_name
from toolreel_core._jsontext import Json
from toolreel_core._plan import REASONS, FallbackReason, ForeignReasoning, Preset
from toolreel_core._settings import LoopConfig, Price

PresetLike: TypeAlias = str | Iterable[str] | Preset | None
"""A preset by name or several, on top of the provider's; a :class:`Preset` instead of all of them."""


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
    """Presets by name, on top of those."""
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
        """Model and server, and nothing secret."""
        where = "" if self.base_url is None else f", base_url={shown_url(self.base_url)!r}"
        return f"Fallback({self.model!r}{where})"


class AgentSettings(TypedDict, total=False):
    """What type checkers know of the keyword arguments of ``Agent``: its fields, by name."""

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


_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "model": (str,),
    "base_url": (str,),
    "instructions": (str,),
    "provider": (str,),
    "api_key": (str, Secret),
    "api_key_env": (str,),
    "headers": (Mapping,),
    "options": (Mapping,),
    "config": (LoopConfig, Mapping),
    "price": (Price,),
}
_KIND_NAMES: Final = {str: "a text", Mapping: "an object", LoopConfig: "a LoopConfig", Price: "a Price"}


def check_kinds(agent: object, headers: Mapping[str, object] | None) -> None:
    """Check the kinds of an agent's settings.

    :raises ConfigError: at the first that is of another kind
    """
    for name, kinds in _KINDS.items():
        value = getattr(agent, name)
        if value is not None and not isinstance(value, kinds):
            expected = " or ".join(_KIND_NAMES[kind] for kind in kinds if kind in _KIND_NAMES)
            raise ConfigError(f"{name}: expected {expected}, got {type(value).__name__}")
    for name, value in (headers or {}).items():
        if not isinstance(value, (str, Secret)):
            raise ConfigError(f"headers: expected a text for {name}, got {type(value).__name__}")


def preset_of(given: PresetLike, provider: str, model: str) -> Preset:
    """The presets that apply to a provider and a model, and those that are named, as one.

    :raises ConfigError: if there is no such provider
    """
    if isinstance(given, Preset):
        return given
    collection = with_files()
    if provider and not collection.defaults(provider).names:
        raise ConfigError(f"provider: {unknown_name('provider', provider, collection.providers)}")
    names = (given,) if isinstance(given, str) else given or ()
    return collection.for_(provider, model).merged(collection.merged(names))
