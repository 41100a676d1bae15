"""Strategies: how much help a model gets, resolved to one complete configuration.

A strategy is data: the layers that it uses, and its own settings. :func:`configuration_for` merges the layers
in a fixed order; each is a sparse patch. The result is passed to the reducer unchanged, so ``raw`` has no
hidden help, and the recorded configuration is the one that was run.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Final

from toolreel_core._internal import Table, unknown_name
from toolreel_core._jsontext import Json, canonical, merged
from toolreel_core._plan import Preset, Presets, SamplingProfile
from toolreel_core._settings import LoopConfig, Provider
from toolreel_core.evals._plan.endpoint import Endpoint
from toolreel_core.evals._plan.options import Options
from toolreel_core.evals._plan.run_configuration import Configuration, object_of

_TAGS: Final = "content_tag_tool_call_fallback"
_OWN: Final = ("config", "provider", "request", "request_overrides")


@dataclass(frozen=True, slots=True)
class Strategy:
    """One strategy."""

    name: str
    about: str
    tags: tuple[str, ...] = ()
    infrastructure: bool = False
    """Whether replies are repaired and one call a turn is asked for (preset ``default_tool_calling``)."""
    provider_defaults: bool = False
    """Whether the provider's presets apply."""
    workarounds: bool = False
    """Whether the model's workarounds apply."""
    presets: tuple[str, ...] = ()
    """Further presets, by name."""
    own: Preset = field(default_factory=Preset)
    """Its own settings; they override those of the layers."""

    def extended(self, name: str, tree: object) -> Strategy:
        """A strategy of the user's own over this one.

        :raises PlaceError: at the first thing that is wrong
        """
        table = Table.of(tree, "strategy", name).only("extends", "about", "tags", "presets", *_OWN)
        sections = {section: table.values[section] for section in _OWN if section in table.values}
        own = Preset.of(name, sections)
        return replace(
            self,
            name=name,
            about=table.text("about", f"{self.name}, changed"),
            tags=table.names("tags"),
            presets=(*self.presets, *table.names("presets")),
            own=self.own.merged(own),
        )


STRATEGIES: Final = (
    Strategy(
        "raw",
        "Nothing is mended, nothing is known, nothing is sent that was not asked for.",
        ("raw", "naked", "unoptimized"),
        presets=("raw",),
    ),
    Strategy(
        "baseline",
        "Replies are mended, and the provider is known.",
        ("base",),
        infrastructure=True,
        provider_defaults=True,
        presets=("baseline",),
    ),
    Strategy(
        "production",
        "All that toolreel knows: the provider, and the model's workarounds.",
        ("prod", "recommended"),
        infrastructure=True,
        provider_defaults=True,
        workarounds=True,
    ),
)
"""In the order of the catalogue."""


def strategies_of(tree: object, presets: Presets) -> tuple[Strategy, ...]:
    """The strategies, with those that a plan declares in its tables ``[strategy.NAME]`` after them.

    :raises PlaceError: if one extends what there is not, or cannot be used
    """
    known = {strategy.name: strategy for strategy in STRATEGIES}
    for name, table in Table.of(tree, "strategy").tables():
        if name in known:
            raise table.complaint("there is a strategy of that name; choose another")
        base = table.text("extends", "production")
        if base not in known:
            raise table.complaint(unknown_name("strategy", base, known), "extends")
        for preset in table.names("presets"):
            if preset not in presets.names:
                raise table.complaint(unknown_name("preset", preset, presets.names), "presets")
        known[name] = known[base].extended(name, table.values)
    return tuple(known.values())


def configuration_for(
    presets: Presets,
    options: Options,
    endpoint: Endpoint,
    strategy: Strategy,
    model: str,
    profile: SamplingProfile,
    changes: Preset,
) -> Configuration:
    """The effective configuration of a run.

    Later layers override earlier ones: infrastructure, provider, the strategy's presets, the options of the
    evaluation, text calls, the model's workarounds, the strategy's own settings, sampling, scenario.

    :param presets: the catalogue
    :param changes: of the scenario
    """
    server, none = endpoint.provider, Preset()
    layers = (
        presets.base if strategy.infrastructure else none,
        presets.defaults(server) if strategy.provider_defaults else none,
        presets.merged(strategy.presets),
        harness_preset(options).merged(Preset(request_overrides=endpoint.request_overrides)),
        presets.get(_TAGS) if strategy.provider_defaults and options.content_tag_fallback else none,
        presets.workaround(server, model) if strategy.workarounds else none,
        strategy.own,
    )
    known = reduce(Preset.merged, layers, none)
    whole = known.merged(profile.preset).merged(changes)
    sections = whole.changes()
    provider = Provider.of(sections["provider"])
    asked = map(object_of, (profile.options, options.sampling, changes.request))
    return Configuration(
        LoopConfig.of(sections["config"]),
        provider,
        canonical(reduce(merged, asked, known.options(provider))),
        whole.request_overrides,
        whole.names,
        options.tool_allowlist,
        options.seeds,
        dict(endpoint.models).get(model, ""),
    )


def harness_preset(options: Options) -> Preset:
    """The options of the evaluation as a preset: above the provider's layer, below a model's workarounds.

    >>> harness_preset(Options(fix_empty_final=False)).changes()["config"]["fix_empty_final"]
    False
    """
    budget = options.run_budget
    tokens, minutes = budget.max_tokens, budget.max_minutes
    caps: dict[str, Json] = {
        "max_cost": budget.max_cost,
        "max_total_tokens": None if tokens is None else max(1, int(tokens)),
        "max_wall_ms": None if minutes is None else max(1, int(minutes * 60_000)),
    }
    wanted: dict[str, Json] = {
        "tool_use_mode": options.tool_use_mode,
        "tool_failure_policy": options.tool_failure_policy,
        "fix_empty_final": options.fix_empty_final,
        "fallback_without_tools": options.fallback_retries > 0,
        **{key: value for key, value in caps.items() if value is not None},
    }
    asked = Preset(config=canonical(wanted), request_overrides=options.request_overrides)
    return asked.merged(Preset(config=options.loop))
