"""Configurations of runs, and the strategies that they are made by: how much help a model gets, as data.

:func:`configuration_for` merges the layers in a fixed order into the complete, frozen settings of one run.
They are passed to the reducer unchanged: ``raw`` has no hidden help, and what is recorded is what was run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import reduce

from toolreel_core._config_checks import Table, unknown_name_message
from toolreel_core._conversation import Message
from toolreel_core._jsontext import NOTHING, Json, JsonText, Tree, as_tree, canonical, digest, merged, parse
from toolreel_core._plan import Plan, Preset, Presets, SamplingProfile
from toolreel_core._settings import LoopConfig, Price, Provider
from toolreel_core._text_calls import abbreviated_dialect_names
from toolreel_core._tools import ToolSurface, masked
from toolreel_core.evals._plan.options import EvalEndpoint, Options


@dataclass(frozen=True, slots=True)
class Configuration:
    """The effective configuration of a run."""

    config: LoopConfig = field(default_factory=LoopConfig)
    provider: Provider = field(default_factory=Provider)
    options: JsonText = NOTHING
    """Options of the request, the sampling among them; a JSON object."""
    overrides: JsonText = NOTHING
    """What is merged into the request's body, last of all; a JSON object."""
    presets: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] = ()
    """Names or patterns of the tools that may be called; none: all that the scenario exposes."""
    seeded: bool = False
    """Whether each run sends a ``seed`` of its own, so that trials differ and can be repeated."""
    model: str = ""
    """The name that is sent for the model; empty: its name in the plan."""
    price: Price | None = None
    """The model's price, if the cost of the run is limited; else ``None``, since nothing else needs it."""

    @property
    def text(self) -> JsonText:
        """The settings that differ from their defaults, as a JSON object; :meth:`of` reads it."""
        return canonical(
            {
                "config": self.config.changes(),
                "provider": self.provider.changes(),
                "options": parse(self.options),
                "overrides": parse(self.overrides),
                "presets": list(self.presets),
                "allowed_tools": list(self.allowed_tools),
                "seeded": self.seeded,
                # Only if set: a further key would change the digests of all configurations without it.
                **({"model": self.model} if self.model else {}),
                **({"price": {"input": it.input, "output": it.output}} if (it := self.price) else {}),
            }
        )

    @classmethod
    def of(cls, text: JsonText) -> Configuration:
        """Read :attr:`text`."""
        return Table.of(parse(text)).build(cls)

    @property
    def digest(self) -> str:
        """SHA-256 of :attr:`text`."""
        return digest(self.text)

    def plan(self, model: str, messages: Iterable[Message], tools: ToolSurface, seed: int = 0) -> Plan:
        """The plan of a run under this configuration.

        :param seed: of the run's random draws; sent with its requests if the configuration is ``seeded``
        :raises ConfigError: if the settings contradict each other, or an allowed tool does not exist
        """
        return Plan(
            self.model or model,
            tuple(messages),
            canonical({**parsed_object(self.options), "seed": seed}) if self.seeded else self.options,
            masked(tools, allow=self.allowed_tools or None) if tools.definitions else tools,
            self.config,
            seed,
            self.provider,
            self.overrides,
            self.presets,
            price=self.price,
        )


def parsed_object(text: JsonText) -> Tree:
    return as_tree(parse(text))


_OWN = ("config", "provider", "request", "request_overrides")


@dataclass(frozen=True, slots=True)
class Strategy:
    """One strategy."""

    name: str
    about: str
    tags: tuple[str, ...] = ()
    defaults: bool = False
    """Whether replies are repaired, one call a turn is asked for, and the provider's presets apply."""
    workarounds: bool = False
    presets: tuple[str, ...] = ()
    own: Preset = field(default_factory=Preset)
    """Its own settings; they override those of the layers."""


STRATEGIES = (
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
        defaults=True,
        presets=("baseline",),
    ),
    Strategy(
        "production",
        "All that toolreel knows: the provider, and the model's workarounds.",
        ("prod", "recommended"),
        defaults=True,
        workarounds=True,
    ),
)
"""The strategies that every plan knows."""


def strategies_of(tree: object, presets: Presets) -> tuple[Strategy, ...]:
    """The strategies, with those that a plan declares in its tables ``[strategy.NAME]`` after them."""
    known = {strategy.name: strategy for strategy in STRATEGIES}
    for name, table in Table.of(tree, "strategy").tables():
        if name in known:
            raise table.error_at("there is a strategy of that name; choose another")
        table.only("extends", "about", "tags", "presets", *_OWN)
        if (extended := table.text("extends", "production")) not in known:
            raise table.error_at(unknown_name_message("strategy", extended, known), "extends")
        base, further = known[extended], table.names("presets")
        for preset in further:
            if preset not in presets.names:
                raise table.error_at(unknown_name_message("preset", preset, presets.names), "presets")
        sections = {section: table.values[section] for section in _OWN if section in table.values}
        known[name] = replace(
            base,
            name=name,
            about=table.text("about", f"{base.name}, changed"),
            tags=table.names("tags"),
            presets=(*base.presets, *further),
            own=base.own.merged(Preset.of(name, sections)),
        )
    return tuple(known.values())


def configuration_for(
    presets: Presets,
    options: Options,
    endpoint: EvalEndpoint,
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
        presets.base if strategy.defaults else none,
        presets.defaults(server) if strategy.defaults else none,
        presets.merged(strategy.presets),
        evaluation_options_preset(options).merged(Preset(request_overrides=endpoint.request_overrides)),
        presets.get("content_tag_tool_call_fallback")
        if strategy.defaults and options.content_tag_fallback
        else none,
        presets.workaround(server, model) if strategy.workarounds else none,
        strategy.own,
    )
    known = reduce(Preset.merged, layers, none)
    whole = known.merged(profile.preset).merged(changes)
    sections = whole.changes()
    provider = Provider.of(sections["provider"])
    asked = map(parsed_object, (profile.options, options.sampling, changes.request))
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


def evaluation_options_preset(options: Options) -> Preset:
    """The options of the evaluation as a preset: above the provider's layer, below a model's workarounds."""
    budget, same = options.run_budget, ("tool_use_mode", "tool_failure_policy", "fix_empty_final")
    caps = {
        "max_cost": budget.max_cost,
        # At least 1: a cap that is cut to 0 would be left out below, and nothing would be limited.
        "max_total_tokens": budget.max_tokens and max(1, int(budget.max_tokens)),
        "max_wall_ms": budget.max_minutes and max(1, int(budget.max_minutes * 60_000)),
    }
    wanted: dict[str, Json] = {
        **{name: getattr(options, name) for name in same},
        "fallback_without_tools": options.fallback_retries > 0,
        **{name: cap for name, cap in caps.items() if cap},
    }
    asked = Preset(config=canonical(wanted), request_overrides=options.request_overrides)
    return asked.merged(Preset(config=options.loop))


@dataclass(frozen=True, slots=True)
class ChangedKey:
    path: tuple[str, ...]
    before: JsonText | None
    after: JsonText | None

    def __str__(self) -> str:
        return ".".join(self.path)

    @property
    def change(self) -> str:
        return " -> ".join(text or "(none)" for text in (self.before, self.after))


def tree_changes(before: JsonText, after: JsonText) -> tuple[str, ...]:
    """The places at which two objects differ, with both values."""
    changed = _changed_keys((), parsed_object(before), parsed_object(after))
    return tuple(f"{key}: {key.change}" for key in changed)


def changed_keys_between(before: Configuration, after: Configuration) -> tuple[ChangedKey, ...]:
    return tuple(_changed_keys((), _all_settings(before), _all_settings(after)))


def with_changed_keys(
    before: Configuration, keys: Collection[ChangedKey], price: Price | None = None
) -> Configuration:
    """A configuration with the given keys as they are after the change."""
    tree = _all_settings(before)
    for key in keys:
        tree = _with_value_at(tree, key.path, key.after)
    return replace(
        before,
        config=LoopConfig.of(as_tree(tree["config"])),
        provider=Provider.of(as_tree(tree["provider"])),
        options=canonical(tree["request"]),
        overrides=canonical(tree["request_overrides"]),
        # A limit of the cost may be one of the keys, and needs a price.
        price=before.price or price,
    )


def _all_settings(made: Configuration) -> Tree:
    return {
        # As a plan writes it: `marked` instead of the names of all marked dialects.
        "config": {
            name: abbreviated_dialect_names(value) if isinstance(value, tuple) else value
            for name, value in asdict(made.config).items()
        },
        "provider": asdict(made.provider),
        "request": parsed_object(made.options),
        "request_overrides": parsed_object(made.overrides),
    }


def _changed_keys(path: tuple[str, ...], old: Tree, new: Tree) -> Iterator[ChangedKey]:
    for key in dict.fromkeys((*old, *new)):
        one, other, place = old.get(key), new.get(key), (*path, key)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from _changed_keys(place, one, other)
        else:
            before, after = (canonical(tree[key]) if key in tree else None for tree in (old, new))
            if before != after:
                yield ChangedKey(place, before, after)


def _with_value_at(tree: Tree, path: tuple[str, ...], value: JsonText | None) -> Tree:
    name, *rest = path
    if rest:  # both configurations have an object there
        return {**tree, name: _with_value_at(as_tree(tree[name]), tuple(rest), value)}
    if value is not None:  # in its place, if it has one
        return {**tree, name: parse(value)}
    return {key: other for key, other in tree.items() if key != name}
