"""Strategies: how the loop is set up by shipped presets, as an application would and with nothing mended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Literal, TypeAlias, get_args

from toolreel import Plan, Preset
from toolreel.presets import shipped
from toolreel_core import Message, ToolSurface

__all__ = ["STRATEGIES", "Strategy", "plan"]

Strategy: TypeAlias = Literal["raw", "production"]
"""``raw``: the control group, every repair off; ``production``: what an application starts with, and calls
in text; each is the same for all shapes."""

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)

_PRESETS: Mapping[Strategy, tuple[str, ...]] = {
    "raw": ("raw",),
    "production": ("default_tool_calling", "content_tag_tool_call_fallback"),
}
_PATIENT: dict[str, Any] = {"max_turns": 36}
"""A turn of the user has up to 34 calls."""


def plan(strategy: Strategy, *, model: str, messages: Iterable[Message], tools: ToolSurface) -> Plan:
    """The plan of one turn of the user."""
    return _preset(strategy).plan(model=model, messages=messages, tools=tools, settings=_PATIENT)


@cache
def _preset(strategy: Strategy) -> Preset:
    return shipped().merged(_PRESETS[strategy])
