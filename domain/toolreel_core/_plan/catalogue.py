"""Catalogues: presets, models and sampling profiles; a user's own replaces entries of the shipped by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import reduce
from operator import itemgetter
from typing import Any, Literal, TypeAlias, TypeVar

from toolreel_core._config_checks import Natural, Table, item_named, matches_wildcard
from toolreel_core._jsontext import JsonText
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._plan.preset import Preset, checked_request_options
from toolreel_core._settings import Price

# Patterns of model names: which models a pattern means, and which of several patterns is most exact.


# OpenRouter's suffixes that choose an upstream, not a model; `:1.5b` is part of an Ollama name.
_ROUTES = ("exacto", "extended", "floor", "free", "nitro", "online", "thinking")


def matches_model(pattern: str, model: str) -> bool:
    return matches_wildcard(_without_route_suffix(pattern), _without_route_suffix(model))


def _without_route_suffix(model: str) -> str:
    name, _, suffix = model.lower().rpartition(":")
    return name if name and suffix in _ROUTES else model.lower()


_Entry = TypeVar("_Entry", "Model", "ModelPrice")


def _most_exact_entry(entries: Iterable[_Entry], model: str) -> _Entry | None:
    """The entry with the most exact pattern: one without a star, else most text; of equals, the last."""
    ranked = [
        (("*" not in pattern, len(_without_route_suffix(pattern).replace("*", ""))), entry)
        for entry in entries
        for pattern in entry.patterns
        if matches_model(pattern, model)
    ]
    # max() returns the first of equals, hence reversed().
    return max(reversed(ranked), key=itemgetter(0), default=(None, None))[1]


# Prices by model: entries of catalogues, of which the most exact one holds.


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """The price of one model, or of a family of them."""

    name: str
    patterns: tuple[str, ...]
    """Patterns of the names of its models; ``*`` stands for any text."""
    provider: str
    """The provider that sells at this price; empty: all."""
    price: Price

    @classmethod
    def of(cls, name: str, tree: object) -> ModelPrice:
        table = Table.of(tree, "price", name)
        price = table.without("patterns", "provider").build(Price)
        return cls(name, table.names("patterns", (name,)), table.text("provider"), price)


ToolVerdict: TypeAlias = Literal["yes", "yes_for_tools", "conditional", "no"]
"""``yes_for_tools``: reliable tool calls, unreliable in plain chat; ``conditional``: only with the right
profile or route."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A recommendation for a model: whether to use it for tools, and how."""

    verdict: ToolVerdict
    profiles: tuple[str, ...] = ("default",)
    """Sampling profiles to use, the best first."""
    best_profile: str = "default"
    """The sampling profile with the best result in an evaluation; the next three fields are about it."""
    ok: Natural = 0
    """Runs of tool scenarios that succeeded."""
    runs: int = 1
    p95_ms: Natural = 0
    """95th percentile of the duration of a run, in milliseconds."""
    measured_on: str = ""
    """The day of the evaluation, as ``YYYY-MM-DD``."""
    note: str = ""

    @property
    def rate(self) -> float:
        """The share of runs that succeeded."""
        return self.ok / self.runs


@dataclass(frozen=True, slots=True)
class Model:
    """One model, or a family of them."""

    name: str
    """The model's name, as its provider knows it."""
    patterns: tuple[str, ...]
    """Patterns of its names; ``*`` stands for any text."""
    provider: str = ""
    """The provider that needs the presets; empty: all."""
    presets: tuple[str, ...] = ()
    """Names of the presets that it needs, in merge order."""
    recommendation: Recommendation | None = None
    tags: tuple[str, ...] = ()
    """Words for filters, such as ``stable``."""
    presets_by_provider: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Names of further presets, for a provider each: what a model needs can depend on its server."""

    @classmethod
    def of(cls, name: str, tree: object) -> Model:
        """Read a model of a catalogue."""
        table = Table.of(tree, "model", name)
        return table.build(cls, {"name": name}, patterns=table.names("patterns", (name,)))

    @property
    def family(self) -> bool:
        """Whether it stands for many models, so that its name cannot be used in a request."""
        return "*" in self.name


@dataclass(frozen=True, slots=True)
class SamplingProfile:
    """A sampling profile: named options of a request."""

    name: str
    options: JsonText
    """A JSON object, such as ``{"temperature":0.6}``; empty: the provider's defaults."""
    applies_to: tuple[str, ...] = ()
    """Patterns of models; empty: all."""
    tags: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, tree: object) -> SamplingProfile:
        """Read a profile of a catalogue."""
        table = Table.of(tree, "sampling", name)
        return table.build(cls, {"name": name}, options=checked_request_options(table.table("options")))

    def fits(self, model: str) -> bool:
        """Whether it is for a model."""
        return not self.applies_to or any(matches_model(pattern, model) for pattern in self.applies_to)

    @property
    def preset(self) -> Preset:
        """The profile as a preset, for merging."""
        return Preset(names=(self.name,), request=self.options)


_BASE = "default_tool_calling"
"""The preset that every composition begins with, if it exists."""

_JOINT = lazy_pattern(r"[^a-z0-9]+")
"""The characters between the words of a model's name, which providers write differently."""


_KINDS: Mapping[str, Any] = {
    "preset": Preset,
    "model": Model,
    "sampling": SamplingProfile,
    "price": ModelPrice,
}
"""The tables of a catalogue, in the order of the fields of :class:`Presets`."""


@dataclass(frozen=True, slots=True)
class Presets:
    """Presets, models, sampling profiles and prices; a name is used once in each."""

    presets: tuple[Preset, ...] = ()
    models: tuple[Model, ...] = ()
    profiles: tuple[SamplingProfile, ...] = ()
    prices: tuple[ModelPrice, ...] = ()

    @classmethod
    def of(cls, tree: object) -> Presets:
        """Read one catalogue.

        >>> Presets.of({"preset": {"mine": {"config": {"max_turns": 4}}}}).names
        ('mine',)

        :raises PlaceError: at the first error, with the place, the value and what is allowed
        """
        table = Table.of(tree).only(*_KINDS)
        return cls(
            *(
                tuple(kind.of(name, each.values) for name, each in table.table(key).tables())
                for key, kind in _KINDS.items()
            )
        )

    def extended(self, other: Presets) -> Presets:
        """The collection with another merged over it by name."""
        both = ((getattr(self, each.name), getattr(other, each.name)) for each in fields(self))
        return Presets(*(tuple({item.name: item for item in (*mine, *over)}.values()) for mine, over in both))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the presets."""
        return tuple(preset.name for preset in self.presets)

    @property
    def providers(self) -> tuple[str, ...]:
        """The names of the providers that have defaults, the first of each."""
        return tuple(preset.defaults_for[0] for preset in self.presets if preset.defaults_for)

    def get(self, name: str) -> Preset:
        """The preset of that name.

        >>> Presets.of({"preset": {"mine": {}}}).get("mein")
        Traceback (most recent call last):
        ...
        toolreel_core.ConfigError: there is no preset 'mein'; did you mean 'mine'?
        """
        return item_named("preset", name, {each.name: each for each in self.presets})

    def merged(self, names: Iterable[str]) -> Preset:
        """Presets by name, merged in order."""
        return reduce(Preset.merged, map(self.get, names), Preset())

    def profile(self, name: str) -> SamplingProfile:
        """The sampling profile of that name."""
        return item_named("sampling profile", name, {each.name: each for each in self.profiles})

    def sampling_profiles(self, model: str) -> tuple[SamplingProfile, ...]:
        """The profiles for a model."""
        return tuple(profile for profile in self.profiles if profile.fits(model))

    def model(self, name: str) -> Model | None:
        """The entry with the most exact pattern for a model; of equally exact ones, the last."""
        return _most_exact_entry(self.models, name)

    def recommendation(self, model: str) -> Recommendation | None:
        """The recommendation for a model; ``None`` if nothing is known."""
        known = self.model(model)
        return known.recommendation if known else None

    def defaults(self, provider: str) -> Preset:
        """The defaults of a provider, by any of its names; empty if unknown."""
        key = _comparison_key(provider)
        # The user's own presets stand behind the shipped ones, and take precedence.
        for preset in reversed(self.presets):
            if key in map(_comparison_key, preset.defaults_for):
                return preset
        return Preset()

    def for_(self, provider: str, model: str = "") -> Preset:
        """The base, the provider's defaults, the model's workarounds and its price; unknown ones are empty.

        An unknown provider is not an error, since most servers need no preset: a misspelt one gives the base
        alone. ``providers`` has the known names; ``--provider`` of the command line accepts only those.
        """
        priced = Preset(price=self.price(provider, model))
        return (
            self.base.merged(self.defaults(provider)).merged(self.workaround(provider, model)).merged(priced)
        )

    def price(self, provider: str, model: str) -> Price | None:
        """The price of a model at a provider; ``None`` if it is unknown, which is not 0."""
        here = self._canonical_provider_name(provider)
        sold = [
            each
            for each in self.prices
            if not each.provider or self._canonical_provider_name(each.provider) == here
        ]
        known = _most_exact_entry(sold, model)
        return known.price if known else None

    @property
    def base(self) -> Preset:
        """The preset ``default_tool_calling``; empty if there is none."""
        return self.merged([_BASE] if _BASE in self.names else [])

    def workaround(self, provider: str, model: str) -> Preset:
        """The presets that a model needs in addition to its provider's defaults, merged."""
        known, here = self.model(model), self._canonical_provider_name(provider)
        if known is None or (known.provider and self._canonical_provider_name(known.provider) != here):
            return Preset()
        local = [
            names
            for other, names in known.presets_by_provider
            if self._canonical_provider_name(other) == here
        ]
        return self.merged((*known.presets, *(name for names in local for name in names)))

    def _canonical_provider_name(self, provider: str) -> str:
        return self.defaults(provider).name or _comparison_key(provider)


def _comparison_key(name: str) -> str:
    """A provider's name for comparison: ``llama.cpp``, ``llama-cpp`` and ``LLAMA_CPP`` are equal."""
    return _JOINT.sub("_", name.lower())
