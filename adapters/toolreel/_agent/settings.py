"""The settings of an agent besides its model and its output, and what kinds of values they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict

from toolreel._agent.approval import Approve
from toolreel._agent.offered_tools import AgentTools
from toolreel._driver.ports import AsyncEndpoint, Endpoint
from toolreel._secrets.secret import Secret
from toolreel.presets._catalogues import with_files
from toolreel_core._errors import ConfigError
from toolreel_core._internal.name_registry import unknown_name
from toolreel_core._jsontext.canonical import Json
from toolreel_core._plan.presets.preset import Preset
from toolreel_core._settings.loop_config import LoopConfig
from toolreel_core._settings.price import Price

if TYPE_CHECKING:
    from toolreel._agent.fallbacks import Fallback

PresetLike: TypeAlias = str | Iterable[str] | Preset | None
"""A preset by name or several, on top of the provider's; a :class:`Preset` instead of all of them."""


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
