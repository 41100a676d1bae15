"""A preset: a named, sparse patch of the settings, options and overrides of a plan.

Merging presets joins lists of names in order, the defaults first (an empty list clears), merges options and
overrides deeply, and replaces everything else. Merging is associative, and ``Preset()`` changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeAlias

from toolreel_core._config_checks import Table, item_named
from toolreel_core._conversation import Messages
from toolreel_core._jsontext import NOTHING, Json, JsonText, Tree, as_tree, canonical, merged, parse
from toolreel_core._plan.output import OutputSpec
from toolreel_core._plan.plan import OWNED, Plan
from toolreel_core._plan.request import reserved_override_keys
from toolreel_core._settings import LoopConfig, Price, Provider
from toolreel_core._text_calls import abbreviated_dialect_names
from toolreel_core._tools import SchemaLike, ToolDefinition, ToolSurface

_SETTINGS = tuple(setting.name for setting in fields(LoopConfig))
_TRAITS = tuple(setting.name for setting in fields(Provider))
LIST_SETTINGS = tuple(setting.name for setting in fields(LoopConfig) if isinstance(setting.default, tuple))
"""Settings that are lists of names, which presets add to."""
# Annotations are texts here, such as ``int | None``.
_CAN_BE_OFF = tuple(setting.name for setting in fields(LoopConfig) if "None" in str(setting.type))

_LOOP = LoopConfig()
# Not ``None``, which is the default of some settings.
_UNSET = object()
_TOOL_OPTIONS = ("parallel_tool_calls", "tool_choice")
_SECTIONS = ("config", "provider", "request", "request_overrides")


@dataclass(frozen=True, slots=True)
class Preset:
    """One patch, or several merged; comparable, since everything in it is text."""

    names: tuple[str, ...] = ()
    """Its own name, or those of the presets that were merged, in order."""
    about: str = ""
    """What it does, and for which servers or models."""
    evidence: tuple[str, ...] = ()
    """Sources: public threads as ``repository#number``, pages by their title."""
    verified_on: str = ""
    """The day of the last check of the sources, as ``YYYY-MM-DD``; of several presets, the earliest."""
    because: tuple[tuple[str, str], ...] = ()
    """Reasons for settings, by key; a preset that replaces a setting gives a new reason."""
    defaults_for: tuple[str, ...] = ()
    """All names of the provider whose defaults it is."""
    config: JsonText = NOTHING
    """Settings of :class:`~toolreel_core._settings.loop_config.LoopConfig`; lists of names are patches."""
    provider: JsonText = NOTHING
    """Settings of :class:`~toolreel_core._settings.provider_support.Provider`."""
    request: JsonText = NOTHING
    """Options of the request; those of a plan take precedence."""
    request_overrides: JsonText = NOTHING
    """Overrides of the body, which take precedence over a plan's options."""
    price: Price | None = None
    """The price of the model that it was composed for; ``None`` if it is unknown."""

    @classmethod
    def of(cls, name: str, tree: object) -> Preset:
        """Read a preset of a catalogue.

        >>> Preset.of("mine", {"config": {"max_turns": 4}}).config
        '{"max_turns":4}'

        :raises PlaceError: at the first error, such as ``preset.mine.config.max_turns``
        """
        table = Table.of(tree, "preset", name)
        return table.build(
            cls,
            {"names": (name,), "price": None},
            config=_read_config(table.table("config")),
            provider=table.table("provider").check_values(Provider.of).json(),
            request=checked_request_options(table.table("request")),
        )

    @property
    def name(self) -> str:
        """The names in one text."""
        return " + ".join(self.names)

    def merged(self, other: Preset) -> Preset:
        """This preset with another merged over it.

        >>> careful = Preset.of("careful", {"config": {"max_turns": 4, "text_dialects": ["hermes_json"]}})
        >>> patient = Preset.of("patient", {"config": {"max_turns": 40}})
        >>> careful.merged(patient).config
        '{"max_turns":40,"text_dialects":["hermes_json"]}'
        """
        days = (day for day in (self.verified_on, other.verified_on) if day)
        mine, over = self._section_trees(), other._section_trees()
        replaced = {key for tree in over.values() for key in tree if key not in LIST_SETTINGS}
        because = {key: reason for key, reason in self.because if key not in replaced}
        sections = {section: canonical(merged(mine[section], over[section])) for section in _SECTIONS}
        return Preset(
            names=_union_in_order(self.names, other.names),
            about=" ".join(filter(None, (self.about, other.about))),
            evidence=_union_in_order(self.evidence, other.evidence),
            verified_on=min(days, default=""),
            because=tuple({**because, **dict(other.because)}.items()),
            defaults_for=_union_in_order(self.defaults_for, other.defaults_for),
            price=other.price or self.price,
            **{**sections, "config": canonical(_merge_settings(mine["config"], over["config"]))},
        )

    def _section_trees(self) -> dict[str, Tree]:
        return {section: as_tree(parse(getattr(self, section))) for section in _SECTIONS}

    def changes(self) -> dict[str, dict[str, Json]]:
        """Its changes to the defaults, by section, with lists as they result."""
        trees = self._section_trees()
        changed = {**trees, "config": _apply_list_patches(trees["config"])}
        return {section: dict(tree) for section, tree in changed.items()}

    def config_with(self, settings: Mapping[str, Any]) -> LoopConfig:
        """The settings of the loop with others over them, as if a preset with those had been merged.

        >>> careful = Preset.of("careful", {"config": {"tool_transforms": ["schema_inline_defs"]}})
        >>> careful.config_with({"tool_transforms": ["schema_strip_strict"]}).tool_transforms
        ('schema_inline_defs', 'schema_strip_strict')
        >>> careful.config_with({"tool_transforms": {"only": ["schema_strip_strict"]}}).tool_transforms
        ('schema_strip_strict',)

        :param settings: a list of names adds to the preset's and the default's, an empty one clears, and
            ``{"only": names}`` replaces
        :raises ConfigError: if a setting does not exist, or has no such value
        """
        patch = _with_normalized_name_patches(Table((), settings))
        return LoopConfig.of(_apply_list_patches(_merge_settings(self._section_trees()["config"], patch)))

    def settings_with(self, settings: Mapping[str, Any]) -> tuple[LoopConfig, Provider]:
        """The settings of the loop and of the provider with others over them, as for :meth:`config_with`.

        :raises ConfigError: if one does not exist, or has no such value
        """
        for key in settings:
            item_named("setting", key, dict.fromkeys((*_SETTINGS, *_TRAITS)))
        own, traits = (
            {key: settings[key] for key in settings if key in part} for part in (_SETTINGS, _TRAITS)
        )
        return self.config_with(own), Provider.of({**self._section_trees()["provider"], **traits})

    def options(self, provider: Provider) -> Tree:
        """Its options of the request that the provider is known to support."""
        requested = self._section_trees()["request"]
        refused = () if provider.requires_calls() else (("tool_choice", "required"),)
        return {
            key: value
            for key, value in requested.items()
            if provider.support(key) == "yes" and (key, value) not in refused
        }

    def plan(  # noqa: PLR0913 - a plan has that many parts, each by its name
        self,
        *,
        model: str,
        messages: Messages,
        tools: ToolSurface | Iterable[ToolDefinition] = (),
        options: Tree | None = None,
        settings: Mapping[str, Any] | None = None,
        overrides: Tree | None = None,
        seed: int = 0,
        output: SchemaLike | OutputSpec | None = None,
        price: Price | None = None,
    ) -> Plan:
        """A plan with this preset; the arguments take precedence over it.

        An option from the preset is dropped if the provider is not known to support it, or it needs tools and
        there are none.

        :param settings: of the loop, as for :meth:`config_with`, and of the provider
        :raises ConfigError: if the parts are invalid or contradict each other
        """
        config, provider = self.settings_with(settings or {})
        surface = tools if isinstance(tools, ToolSurface) else ToolSurface(tuple(tools))
        taken = self.options(provider)
        if not surface.names:
            taken = {key: value for key, value in taken.items() if key not in _TOOL_OPTIONS}
        return Plan.of(
            model=model,
            messages=messages,
            options=merged(taken, options or {}),
            tools=surface,
            config=config,
            provider=provider,
            overrides=merged(self._section_trees()["request_overrides"], overrides or {}),
            presets=self.names,
            seed=seed,
            output=output,
            price=price or self.price,
        )


def checked_request_options(table: Table) -> JsonText:
    for key in OWNED:
        if key in table.values:
            instead = "write stream under config" if key == "stream" else "leave it out"
            raise table.error_at(f"it is set by the run itself; {instead}", key)
    return table.json()


def read_overrides(table: Table) -> JsonText:
    if ignored := reserved_override_keys(table.values):
        raise table.error_at("it is set by the run itself; leave it out", ignored[0])
    return table.json()


def _read_config(table: Table) -> JsonText:
    # TOML has no null, so "off" turns off an optional limit.
    off = {key: None for key, value in table.values.items() if value == "off" and key in _CAN_BE_OFF}
    table = Table(table.place, {**table.values, **off})
    text = Table(table.place, _with_normalized_name_patches(table)).json()
    table.check_values(Preset().config_with)
    return text


def _with_normalized_name_patches(table: Table) -> dict[str, Any]:
    """The values of a table, with each list of names as a patch in its shortest form."""
    patches: dict[str, NamesPatch] = {}
    for key in LIST_SETTINGS:
        if isinstance(table.values.get(key), Mapping):
            only = table.table(key).only("only").names("only")
            patches[key] = {"only": [*only]} if only else []
        elif key in table.values:
            patches[key] = [*table.names(key)]
    return {**table.values, **patches}


def _merge_settings(base: Tree, patch: Mapping[str, Any]) -> dict[str, Any]:
    both = {
        key: join_name_patches(base[key], patch[key]) for key in LIST_SETTINGS if key in base and key in patch
    }
    return {**base, **patch, **both}


def _apply_list_patches(config: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with patches of lists turned into the lists that they make of the defaults."""

    def with_default(key: str) -> list[str]:
        return [
            *names_in_patch(join_name_patches([*abbreviated_dialect_names(getattr(_LOOP, key))], config[key]))
        ]

    return {key: with_default(key) if key in LIST_SETTINGS else value for key, value in config.items()}


def exact_config_patch(config: LoopConfig) -> JsonText:
    """Settings as a patch that gives exactly them, whatever the defaults add to lists."""
    exact = config.changes()
    for key in LIST_SETTINGS:
        if key in exact:
            names = [*abbreviated_dialect_names(names_in_patch(exact[key]))]
            exact[key] = {"only": names} if names else []
    return canonical(exact)


def _union_in_order(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


NamesPatch: TypeAlias = Json
"""A list of names to add, at first to the default (an empty one clears), or ``{"only": names}``, which
clears and adds."""


def join_name_patches(before: NamesPatch, patch: NamesPatch) -> NamesPatch:
    """The patch equal to two patches in a row.

    >>> join_name_patches(["a", "b"], ["b", "c"]), join_name_patches(["a"], []), join_name_patches([], ["a"])
    (['a', 'b', 'c'], [], {'only': ['a']})
    """
    if _is_clearing_patch(patch):
        return patch
    names: list[Json] = [*dict.fromkeys((*names_in_patch(before), *names_in_patch(patch)))]
    return {"only": names} if _is_clearing_patch(before) else names


def names_in_patch(patch: NamesPatch) -> tuple[str, ...]:
    names: Any = patch["only"] if isinstance(patch, Mapping) else patch
    return tuple(names or ())


def _is_clearing_patch(patch: NamesPatch) -> bool:
    return isinstance(patch, Mapping) or not patch


@dataclass(frozen=True, slots=True)
class SettingChange:
    key: str
    before: JsonText | None
    after: JsonText | None
    because: str = ""


def preset_changes(preset: Preset) -> tuple[SettingChange, ...]:
    """Every key that a preset sets, compared with the defaults; the two values may be equal."""
    reasons, found = dict(preset.because), list[SettingChange]()
    defaults = {"config": asdict(_LOOP), "provider": asdict(Provider())}
    for section, values in preset.changes().items():
        for key, value in values.items():
            before = defaults.get(section, {}).get(key, _UNSET)
            if isinstance(before, tuple):
                before = abbreviated_dialect_names(before)
            known = None if before is _UNSET else canonical(before)
            found.append(SettingChange(f"{section}.{key}", known, canonical(value), reasons.get(key, "")))
    return tuple(found)
