from __future__ import annotations

from dataclasses import replace

from toolreel_core.evals import Cell, Sample

CELL = Cell("m", "default", "raw", "happy_path")
SAMPLE = Sample(CELL, 1, 1, "digest")


OTHER_CELLS = [
    replace(SAMPLE, cell=replace(CELL, **{axis: "other"}))
    for axis in ("model", "profile", "strategy", "scenario", "endpoint")
]
OTHERS = [replace(SAMPLE, trial=2), replace(SAMPLE, version=2), replace(SAMPLE, configuration="x")]


def test_all_axes_trial_version_and_configuration_decide_about_the_key() -> None:
    assert len({each.key for each in (SAMPLE, *OTHER_CELLS, *OTHERS)}) == 9
    assert replace(SAMPLE).key == SAMPLE.key


def test_scenario_trial_and_version_alone_decide_about_what_is_drawn() -> None:
    others = [*OTHER_CELLS, *OTHERS]
    same = [replace(SAMPLE, cell=each.cell) for each in OTHER_CELLS if each.cell.scenario == CELL.scenario]
    assert {each.seed for each in (*same, OTHERS[2])} == {SAMPLE.seed}
    assert len({each.seed for each in others}) == 4


def test_an_endpoint_without_a_name_leaves_keys_as_they_always_were() -> None:
    assert SAMPLE.key == "064309f765271fb50770ed5f13e994bafe235924a1ec025f5388f9271391b293"
