"""Surfaces of several sources, flags and masks of tools, envelopes of results."""

from toolreel_core._tools import Envelope, ToolFlags, ToolSource, compose, masked

__all__ = [
    "Envelope",
    "ToolFlags",
    "ToolSource",
    "compose",
    "masked",
]
