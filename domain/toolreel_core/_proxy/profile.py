"""What a proxy does for one upstream: the settings of a preset, ready for use on requests of any client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from toolreel_core._conversation import Form
from toolreel_core._jsontext import NOTHING, JsonText, canonical
from toolreel_core._plan import Preset
from toolreel_core._settings import LoopConfig, Provider

_NO_PRESET: Final = Preset()
_ANY: Final = Provider()
_TRAITS: Final = frozenset(trait.name for trait in fields(Provider))
_DEFAULTS: Final = LoopConfig()


@dataclass(frozen=True, slots=True)
class Profile:
    """The settings with which requests to one upstream are written, and its replies are read."""

    provider: Provider = _ANY
    config: LoopConfig = _DEFAULTS
    options: JsonText = NOTHING
    """Options for requests that do not have them."""
    overrides: JsonText = NOTHING
    """Options that take precedence over those of requests."""

    @classmethod
    def of(cls, preset: Preset = _NO_PRESET, settings: Mapping[str, Any] | None = None) -> Profile:
        """The profile of a preset.

        >>> Profile.of(Preset.of("mine", {"provider": {"id_style": "kimi"}})).provider.id_style
        'kimi'

        :param settings: of the loop and of the provider, which take precedence over the preset's
        :raises ConfigError: if one does not exist, or has no such value
        """
        own, given = preset.changes(), settings or {}
        traits = {key: value for key, value in given.items() if key in _TRAITS}
        provider = Provider.of({**own["provider"], **traits})
        choices = {key: value for key, value in given.items() if key not in _TRAITS}
        return cls(
            provider,
            preset.config_with(choices),
            canonical(preset.options(provider)),
            canonical(own["request_overrides"]),
        )

    @property
    def form(self) -> Form:
        """How messages are written."""
        return Form(self.provider, self.config.message_transforms)
