"""Malformed replies of public threads: what is not yet as expected is listed here, and nothing else is."""

from __future__ import annotations

import pytest

from benchmarks.malformed_replies import CASES, SETTINGS, Verdict, judge

NOT_RIGHT: dict[str, dict[Verdict, str]] = {
    "defaults": {"told": "027 034 036 040"},
    "marked": {"told": "027 034 036 040"},
    "everything": {},
}
"""The four are written in bare dialects, which are read only where they are named."""


@pytest.mark.parametrize("setting", SETTINGS)
def test_each_reply_is_read_or_told(setting: str) -> None:
    found: dict[Verdict, list[str]] = {}
    for case in CASES:
        verdict = judge(case, SETTINGS[setting])
        if verdict != "right":
            found.setdefault(verdict, []).append(case["id"].removeprefix("t-"))
    assert {verdict: " ".join(ids) for verdict, ids in found.items()} == NOT_RIGHT[setting]
