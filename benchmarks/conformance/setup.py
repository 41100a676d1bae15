"""Setups: what stands between a loop and the scripted provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, get_args

__all__ = ["BEHIND", "SETUPS", "WORDS", "Setup"]

Setup: TypeAlias = Literal["direct", "proxy", "proxy_asking"]

SETUPS: Final[tuple[Setup, ...]] = get_args(Setup)
BEHIND: Final[tuple[Setup, ...]] = ("proxy", "proxy_asking")

WORDS: Final[Mapping[Setup, str]] = {
    "direct": "direct",
    "proxy": "behind the proxy",
    "proxy_asking": "with requests of its own",
}
"""What each is called in the tables."""
