"""The spelling of DeepSeek's tokens: the bars that proxies and terminals make of its fullwidth bar."""

from __future__ import annotations

from typing import Final

BAR: Final = "[|｜‖]{1,2}"
"""The fullwidth bar, or an ASCII or double bar in its place, possibly twice (lsdefine/GenericAgent#804)."""

DSML: Final = rf"{BAR}(?:DSML|GCML){BAR}[ ]?"
"""The token before the names of DeepSeek's tags."""

BARS: Final = frozenset("|｜‖")
"""The characters that a token may have for a bar."""
