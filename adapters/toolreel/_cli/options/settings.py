"""Parse ``--set KEY=VALUE``: the key decides whether it is a loop, provider or request setting."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Final

import click

from toolreel._cli.options.option_bundle import Command
from toolreel_core._errors import ConfigError
from toolreel_core._internal.name_registry import unknown_name
from toolreel_core._jsontext.canonical import Json, read
from toolreel_core._settings.loop_config import LoopConfig
from toolreel_core._settings.provider_support import Provider

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
            options[key] = _checked(item, key, value)
        elif key.startswith("body.") and key != "body.":
            options[key.removeprefix("body.")] = value
        else:
            hint = unknown_name("setting", key, [*known, *traits, *OPTIONS])
            stop = "" if hint.endswith("?") else "."
            raise ConfigError(f"--set {item}: {hint}{stop} Another key of the body is written body.{key}.")
    return SetOptions(config, options, provider)


def _checked(item: str, key: str, value: Json) -> Json:
    if key in _NUMBERS and (isinstance(value, bool) or not isinstance(value, int | float | None)):
        raise ConfigError(f"--set {item}: expected a number, for example {key}=1; body.{key} takes any value")
    if key == "parallel_tool_calls" and not isinstance(value, bool | None):
        raise ConfigError(f"--set {item}: expected true or false")
    return value
