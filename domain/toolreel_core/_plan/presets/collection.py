"""A collection of presets, models and sampling profiles, and what they come to for one model.

The data is in catalogues, which adapters read; a catalogue of the user's own goes over the shipped one
by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Final, Protocol, TypeVar

from toolreel_core._errors import ConfigError
from toolreel_core._internal.checks import PlaceError, Table
from toolreel_core._internal.names import unknown_name
from toolreel_core._plan.presets.models import Model, Recommendation, SamplingProfile
from toolreel_core._plan.presets.preset import Preset

_BASE: Final = "default_tool_calling"
"""The preset that every composition begins with, where there is one."""

_JOINT: Final = re.compile(r"[^a-z0-9]+")


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Item = TypeVar("_Item", bound=_Named)


@dataclass(frozen=True, slots=True)
class Presets:
    """Presets, models and sampling profiles; a name is used once in each."""

    presets: tuple[Preset, ...] = ()
    models: tuple[Model, ...] = ()
    profiles: tuple[SamplingProfile, ...] = ()

    @classmethod
    def of(cls, tree: object) -> Presets:
        """One catalogue, read whole or not at all.

        >>> Presets.of({"preset": {"mine": {"config": {"max_turns": 4}}}}).names
        ('mine',)

        :raises PlaceError: at the first thing that is wrong; names the place, the value and what is allowed
        """
        table = Table.of(tree).only("preset", "model", "sampling")
        return cls(
            tuple(Preset.of(name, each.values) for name, each in table.table("preset").tables()),
            tuple(Model.of(name, each.values) for name, each in table.table("model").tables()),
            tuple(SamplingProfile.of(name, each.values) for name, each in table.table("sampling").tables()),
        )

    def extended(self, other: Presets) -> Presets:
        """The collection with another over it: what has the same name is replaced, the rest is added.

        :raises PlaceError: if a model of the other names what there is not
        """
        whole = Presets(
            _replaced(self.presets, other.presets),
            _replaced(self.models, other.models),
            _replaced(self.profiles, other.profiles),
        )
        for model in other.models:
            whole._check_model(model)
        return whole

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the presets."""
        return tuple(preset.name for preset in self.presets)

    @property
    def providers(self) -> tuple[str, ...]:
        """The names of the presets that are a provider's defaults."""
        return tuple(preset.name for preset in self.presets if preset.defaults_for)

    def get(self, name: str) -> Preset:
        """The preset of that name.

        >>> Presets.of({"preset": {"mine": {}}}).get("mein")
        Traceback (most recent call last):
        ...
        toolreel_core.ConfigError: there is no preset 'mein'; did you mean 'mine'?
        """
        return _found("preset", name, self.presets)

    def merged(self, names: Iterable[str]) -> Preset:
        """Presets by name, merged in order."""
        return reduce(Preset.merged, map(self.get, names), Preset())

    def profile(self, name: str) -> SamplingProfile:
        """The sampling profile of that name."""
        return _found("sampling profile", name, self.profiles)

    def sampling_profiles(self, model: str) -> tuple[SamplingProfile, ...]:
        """The profiles that are for a model."""
        return tuple(profile for profile in self.profiles if profile.fits(model))

    def model(self, name: str) -> Model | None:
        """What is known of a model: what the pattern says that means it most exactly, the later of two."""
        found: Model | None = None
        best = (False, -1)
        for model in self.models:
            exactness = model.exactness(name)
            if exactness is not None and exactness >= best:
                found, best = model, exactness
        return found

    def recommendation(self, model: str) -> Recommendation | None:
        """Whether to use a model for tools, and how; ``None`` if nothing is known."""
        known = self.model(model)
        return known.recommendation if known else None

    def defaults(self, provider: str) -> Preset:
        """The defaults of a provider, by any of its names: the later of two presets, none if unknown."""
        key = _key(provider)
        for preset in reversed(self.presets):
            if key in map(_key, preset.defaults_for):
                return preset
        return Preset()

    def for_(self, provider: str, model: str = "") -> Preset:
        """What a model needs at a provider: the base, the provider's defaults, the model's workarounds.

        An unknown provider is taken to support nothing, an unknown model to need nothing.
        """
        return self.base.merged(self.defaults(provider)).merged(self.workaround(provider, model))

    @property
    def base(self) -> Preset:
        """What every composition begins with: ``default_tool_calling``, where there is one."""
        return self.merged([_BASE] if _BASE in self.names else [])

    def workaround(self, provider: str, model: str) -> Preset:
        """What a model needs beside its provider's defaults."""
        known = self.model(model)
        if known is None:
            return Preset()
        elsewhere = known.provider and self._known_as(known.provider) != self._known_as(provider)
        return Preset() if elsewhere else self.merged(known.presets)

    def _known_as(self, provider: str) -> str:
        """One name for all names of a provider."""
        return self.defaults(provider).name or _key(provider)

    def _check_model(self, model: Model) -> None:
        place = ("model", model.name)
        for name in model.presets:
            if name not in self.names:
                raise PlaceError((*place, "presets"), unknown_name("preset", name, self.names))
        if model.recommendation:
            known = [profile.name for profile in self.profiles]
            measured = model.recommendation.measured.profile
            for key, names in (("profiles", model.recommendation.profiles), ("best_profile", (measured,))):
                if unknown := [name for name in names if name not in known]:
                    what = unknown_name("sampling profile", unknown[0], known)
                    raise PlaceError((*place, "recommendation", key), what)


def _found(what: str, name: str, items: tuple[_Item, ...]) -> _Item:
    for item in items:
        if item.name == name:
            return item
    raise ConfigError(unknown_name(what, name, [item.name for item in items]))


def _replaced(items: tuple[_Item, ...], others: tuple[_Item, ...]) -> tuple[_Item, ...]:
    """By name, in the order of their first appearance."""
    return tuple({item.name: item for item in (*items, *others)}.values())


def _key(name: str) -> str:
    """A provider's name as it is compared: ``llama.cpp``, ``llama-cpp`` and ``LLAMA_CPP`` are one."""
    return _JOINT.sub("_", name.lower())
