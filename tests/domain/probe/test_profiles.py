"""Each profile of the quirky provider yields the preset that was written down for it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.probes import decided_settings, probed
from tests.servers.quirk_profiles import EXPECTED, PROFILES
from toolreel_core._jsontext import Tree
from toolreel_core._plan import Preset, preset_changes
from toolreel_core._probe import findings, preset_tree


def sections(tree: Tree) -> dict[str, Any]:
    return {key: tree[key] for key in ("provider", "config", "request_overrides") if key in tree}


@pytest.mark.parametrize("name", PROFILES)
def test_a_probe_finds_the_preset_of_the_profile(name: str) -> None:
    probing = probed(PROFILES[name])
    found = findings(probing)
    assert (probing.stopped, [each.name for each in found if not each.is_stable]) == (None, [])
    tree = preset_tree(decided_settings(found), "As probed.", "2026-11-23", ["a probe"])
    assert sections(tree) == EXPECTED[name]
    preset = Preset.of("probed", tree)
    assert all(change.because for change in preset_changes(preset))


def test_a_finding_names_the_requests_that_it_rests_on() -> None:
    probing = probed(PROFILES["mistral"], repeat=2)
    by_name = {each.name: each for each in findings(probing)}
    assert by_name["plain"].requests == (1,)
    assert by_name["call_ids"].evidence.startswith("requests ")
    numbers = [number for each in probing.tries for number in each.requests]
    assert numbers == [*range(1, probing.sent + 1)]
    [decided] = [each for each in decided_settings(findings(probing)) if each.key == "id_style"]
    assert by_name["call_ids"].evidence in decided.because
    assert "with a length of 9" in decided.because
