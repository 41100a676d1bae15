"""Options that several commands share: bundles, ``KEY=VALUE``, ``--set`` and presets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import click

from toolreel._cli.shared_option import SharedOption
from toolreel.presets import CATALOGUE_VARIABLE, at_provider, named_presets, with_files
from toolreel_core._config_checks import unknown_name
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, read
from toolreel_core._plan import Preset
from toolreel_core._settings import LoopConfig, Provider

Command: TypeAlias = Callable[..., None]
_Choice = TypeVar("_Choice")


def bundle(
    name: str, kind: type[Any], *options: Callable[[Command], Command]
) -> Callable[[Command], Command]:
    """A decorator that adds options to a command, which receives them as one argument.

    :param name: of the argument
    :param kind: its class, a dataclass with a field for the parameter of each option
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def bundled(**values: object) -> None:
            own = {field.name: values.pop(field.name) for field in fields(kind) if field.name in values}
            command(**{name: kind(**own)}, **values)

        decorated: Command = bundled
        for option in reversed(options):  # the decorator applied last comes first in the help
            decorated = option(decorated)
        return decorated

    return decorate


def key_values(option: str, text: str, known: Collection[str], example: str) -> dict[str, str]:
    """The items of one option, by name.

    >>> key_values("--limit", "requests=60, tokens=9000", ["requests", "tokens"], "requests=60")
    {'requests': '60', 'tokens': '9000'}

    :param example: an item that is right, for errors
    :raises ConfigError: if an item is none, a key does not exist, or one is given twice
    """
    found = dict[str, str]()
    for item in text.split(","):
        key, equals, value = item.strip().partition("=")
        if not equals or not value:
            raise ConfigError(f"{option} {item!r}: expected key=value, for example {example}")
        if key not in known:
            raise ConfigError(f"{option}: {unknown_name('key', key, known)}")
        if key in found:
            raise ConfigError(f"{option}: {key} is given twice")
        found[key] = value
    return found


def choices(option: str, of: Callable[[str], _Choice]) -> Callable[..., tuple[_Choice, ...]]:
    """A callback of click that reads each value of an option, and tells what is wrong with one."""

    def read_all(
        context: click.Context, parameter: click.Parameter, items: tuple[str, ...]
    ) -> tuple[_Choice, ...]:
        try:
            return tuple(map(of, items))
        except ConfigError as error:
            raise click.BadParameter(str(error).removeprefix(f"{option}: "), context, parameter) from error

    return read_all


OPTIONS: Final = (
    "frequency_penalty",
    "logit_bias",
    "max_completion_tokens",
    "max_tokens",
    "min_p",
    "parallel_tool_calls",
    "presence_penalty",
    "reasoning_effort",
    "repetition_penalty",
    "response_format",
    "seed",
    "stop",
    "temperature",
    "tool_choice",
    "top_k",
    "top_p",
)
"""Request options that need no prefix; other keys of the body are written ``body.<key>``."""


_NUMBERS: Final = frozenset({
    "frequency_penalty", "max_completion_tokens", "max_tokens", "min_p", "presence_penalty",
    "repetition_penalty", "seed", "temperature", "top_k", "top_p",
})  # fmt: skip
"""Request options whose value is a number; ``body.<key>`` takes any value."""
_TEXT_SETTINGS: Final = frozenset({"tool_turn_content"})
"""Settings whose value is always text: ``null`` is a choice of theirs, not JSON null."""


def settings_option(text: str) -> Callable[[Command], Command]:
    """``--set``, with a help text; the command receives ``settings``."""
    return click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help=text)


def model_option(*, required: bool = True) -> Callable[[Command], Command]:
    """``--model`` of a command that asks a model."""
    return click.option(
        "--model",
        cls=SharedOption,
        required=required,
        metavar="NAME",
        help="Model name, as the server lists it.",
    )


def tools_option(text: str) -> Callable[[Command], Command]:
    """``--tools``, with a help text; the command receives ``tool_names``."""
    return click.option(
        "--tools", "tool_names", cls=SharedOption, multiple=True, metavar="MODULE:ATTR", help=text
    )


@dataclass(frozen=True, slots=True)
class SetOptions:
    """Parsed ``--set`` options."""

    config: dict[str, Json]
    """Keys of :class:`~toolreel_core._settings.loop_config.LoopConfig`."""
    options: dict[str, Json]
    """Keys of the request body."""
    provider: dict[str, Json] = field(default_factory=dict)
    """Keys of :class:`~toolreel_core._settings.provider_support.Provider`."""


def parse_settings(items: Iterable[str]) -> SetOptions:
    """Parse ``key=value`` items; a value is parsed as JSON if possible, else it is text.

    >>> parse_settings(["max_turns=3", "temperature=0", "body.cache_prompt=false"])
    SetOptions(config={'max_turns': 3}, options={'temperature': 0, 'cache_prompt': False}, provider={})
    >>> parse_settings(["id_style=openai"]).provider
    {'id_style': 'openai'}

    :raises ConfigError: if an item has no ``=``, a key that does not exist, or text where the option is a
        number
    """
    config: dict[str, Json] = {}
    options: dict[str, Json] = {}
    provider: dict[str, Json] = {}
    known = [setting.name for setting in fields(LoopConfig)]
    traits = [setting.name for setting in fields(Provider)]
    for item in items:
        key, equals, text = item.partition("=")
        if not equals or not key:
            raise ConfigError(f"--set {item}: expected key=value, for example temperature=0")
        value = text if key in _TEXT_SETTINGS else read(text).value_or(text)
        if key in known:
            config[key] = value
        elif key in traits:
            provider[key] = value
        elif key in OPTIONS:
            options[key] = _check_option(item, key, value)
        elif key.startswith("body.") and key != "body.":
            options[key.removeprefix("body.")] = value
        else:
            hint = unknown_name("setting", key, [*known, *traits, *OPTIONS])
            stop = "" if hint.endswith("?") else "."
            raise ConfigError(f"--set {item}: {hint}{stop} Another key of the body is written body.{key}.")
    return SetOptions(config, options, provider)


def _check_option(item: str, key: str, value: Json) -> Json:
    if key in _NUMBERS and (isinstance(value, bool) or not isinstance(value, int | float | None)):
        raise ConfigError(f"--set {item}: expected a number, for example {key}=1; body.{key} takes any value")
    if key == "parallel_tool_calls" and not isinstance(value, bool | None):
        raise ConfigError(f"--set {item}: expected true or false")
    return value


def port_option(
    text: str, *, name: str = "--port", default: int | None = None
) -> Callable[[Command], Command]:
    """``--port``, with a help text."""
    kind, shows = click.IntRange(0, 65_535), default is not None
    return click.option(name, type=kind, default=default, show_default=shows, metavar="N", help=text)


NO_PRESETS: Final = (
    "No provider is named, so no provider's presets apply; name it with --provider (`toolreel presets` lists "
    "them)."
)

catalogue_option = click.option(
    "--catalogue",
    "catalogues",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help=f"TOML file with presets of your own. Repeatable. {CATALOGUE_VARIABLE} sets files for all commands.",
)
provider_option = click.option(
    "--provider",
    cls=SharedOption,
    metavar="NAME",
    help="Use the defaults for this provider and the workarounds for the model; `toolreel presets` lists "
    "them.",
)


@dataclass(frozen=True, slots=True)
class PresetChoice:
    """The values of the options that select presets."""

    provider: str | None
    presets: tuple[str, ...]
    sampling: str | None
    catalogues: Sequence[Path]

    @property
    def named(self) -> bool:
        """Whether a provider or a preset is named."""
        return bool(self.provider or self.presets)

    def preset(self, model: str = "") -> Preset:
        """The provider's preset, then named presets, then a sampling profile; later ones win.

        :raises ConfigError: if one of them does not exist
        """
        collection = with_files(self.catalogues)
        preset = at_provider(collection, self.provider, model).merged(named_presets(collection, self.presets))
        return preset.merged(collection.profile(self.sampling).preset) if self.sampling else preset


preset_options = bundle(
    "presets",
    PresetChoice,
    provider_option,
    click.option(
        "--preset",
        "presets",
        cls=SharedOption,
        multiple=True,
        metavar="NAME",
        help="Apply a named preset on top of --provider (`toolreel presets` lists them), or all presets of a "
        "TOML file, such as one of `toolreel probe`. Repeatable.",
    ),
    click.option(
        "--sampling",
        cls=SharedOption,
        metavar="PROFILE",
        help="Apply a sampling profile on top of presets; `toolreel presets sampling` lists them.",
    ),
    catalogue_option,
)
"""Adds the options that select presets to a command, which receives them as one argument ``presets``."""
