"""The profiles of the quirky provider, each with the preset that fits: rows of tests/corpora/quirks.jsonl.

They were written before the first probe. What a form has no word for, or decides itself, is not asked in it
and not set; settings that stay at their defaults are in no preset.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.servers.quirky_provider import Profile

_FILE = Path(__file__).resolve().parents[1] / "corpora" / "quirks.jsonl"
_ROWS: list[dict[str, Any]] = [json.loads(line) for line in _FILE.read_text("utf-8").splitlines()]
PROFILES: Mapping[str, Profile] = {row["name"]: Profile(**row["profile"]) for row in _ROWS}
EXPECTED: Mapping[str, Mapping[str, Any]] = {row["name"]: row["preset"] for row in _ROWS}
"""What each profile's preset has to be."""
