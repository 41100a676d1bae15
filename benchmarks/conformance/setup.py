"""Setups: what stands between a loop and the scripted provider, or the form that the provider speaks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

__all__ = ["BEHIND", "PEERS_TOO", "SETUPS", "WORDS", "Setup"]

Setup: TypeAlias = Literal["direct", "proxy", "proxy_asking", "responses", "messages"]

SETUPS: tuple[Setup, ...] = get_args(Setup)
PEERS_TOO: tuple[Setup, ...] = ("direct", "proxy", "proxy_asking")
"""Those that other loops are put through; the forms are a matter of configuration there."""
BEHIND: tuple[Setup, ...] = ("proxy", "proxy_asking")

WORDS: Mapping[Setup, str] = {
    "direct": "direct",
    "proxy": "behind the proxy",
    "proxy_asking": "with requests of its own",
    "responses": "Responses",
    "messages": "Messages",
}
"""What each is called in the tables."""
