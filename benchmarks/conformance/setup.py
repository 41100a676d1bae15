"""Setups: what stands between a loop and the scripted provider, or the form that the provider speaks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, get_args

__all__ = ["BEHIND", "PEERS_TOO", "SETUPS", "WORDS", "Setup"]

Setup: TypeAlias = Literal["direct", "proxy", "proxy_asking", "responses", "messages"]

SETUPS: Final[tuple[Setup, ...]] = get_args(Setup)
PEERS_TOO: Final[tuple[Setup, ...]] = ("direct", "proxy", "proxy_asking")
"""Those that other loops are put through; the forms are a matter of configuration there."""
BEHIND: Final[tuple[Setup, ...]] = ("proxy", "proxy_asking")

WORDS: Final[Mapping[Setup, str]] = {
    "direct": "direct",
    "proxy": "behind the proxy",
    "proxy_asking": "with requests of its own",
    "responses": "Responses",
    "messages": "Messages",
}
"""What each is called in the tables."""
