"""Presets: named, sparse patches to the configuration of a run.

Applying one changes only the keys that it declares; lists are joined in order. Presets are
data, and each says where its claim comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from toolreel.config import LoopConfig, unknown_name
from toolreel.errors import ConfigError

__all__ = ["PRESETS", "Preset", "configured", "preset"]


@dataclass(frozen=True, slots=True)
class Preset:
    """One patch."""

    name: str
    about: str
    """What it does, for whom."""
    source: str
    """Where the need for it was seen."""
    verified_on: str
    """The day on which that was last checked, as ``YYYY-MM-DD``."""
    text_dialects: tuple[str, ...] = ()


PRESETS: Final[Mapping[str, Preset]] = {
    preset.name: preset
    for preset in (
        Preset(
            "content_tag_tool_call_fallback",
            "Reads <tool_call> tags in the text as calls, when the reply has no structured ones.",
            "servers without a tool parser (ollama/ollama#14656)",
            "2026-11-21",
            ("hermes_json",),
        ),
        Preset(
            "qwen2_5_coder",
            "Reads what Qwen 2.5 Coder writes when it misses its own template: tags and fenced JSON.",
            "sessions recorded from Qwen2.5-Coder-1.5B-Instruct on llama.cpp, under cassettes/",
            "2026-11-21",
            ("hermes_json", "json_fenced"),
        ),
    )
}


def preset(name: str) -> Preset:
    """The preset of that name.

    >>> preset("qwen2_5_codr")
    Traceback (most recent call last):
    ...
    toolreel.errors.ConfigError: there is no preset 'qwen2_5_codr'; did you mean 'qwen2_5_coder'?
    """
    if name not in PRESETS:
        raise ConfigError(unknown_name("preset", name, PRESETS))
    return PRESETS[name]


def configured(names: Iterable[str], changes: Mapping[str, object] | None = None) -> LoopConfig:
    """The configuration that presets, applied in order, and then ``changes`` lead to.

    >>> configured(["qwen2_5_coder"], {"max_turns": 4}).text_dialects
    ('hermes_json', 'json_fenced')
    """
    dialects = dict.fromkeys(dialect for name in names for dialect in preset(name).text_dialects)
    return LoopConfig.of({"text_dialects": tuple(dialects), **(changes or {})})
