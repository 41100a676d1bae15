from __future__ import annotations

from dataclasses import replace

import pytest

from toolreel_core.evals import Cell, Sample

CELL = Cell("m", "default", "raw", "happy_path")
SAMPLE = Sample(CELL, 1, 1, "digest")


def test_a_task_is_a_cell_without_its_scenario() -> None:
    assert CELL.task == Cell("m", "default", "raw", "")
    assert replace(CELL, scenario="other").task == CELL.task


@pytest.mark.parametrize("axis", ["model", "profile", "strategy", "scenario", "endpoint"])
def test_every_axis_decides_about_the_key(axis: str) -> None:
    other = Sample(replace(CELL, **{axis: "other"}), 1, 1, "digest")
    assert other.key != SAMPLE.key


def test_trial_version_and_configuration_decide_about_the_key() -> None:
    others = [replace(SAMPLE, trial=2), replace(SAMPLE, version=2), replace(SAMPLE, configuration="x")]
    assert len({SAMPLE.key, *(other.key for other in others)}) == 4
    assert replace(SAMPLE).key == SAMPLE.key


def test_the_same_trial_is_shown_the_same_world_under_all_strategies() -> None:
    other = Sample(replace(CELL, strategy="production", profile="hot"), 1, 1, "elsewhere")
    assert other.seed == SAMPLE.seed
    assert replace(SAMPLE, trial=2).seed != SAMPLE.seed


def test_an_endpoint_without_a_name_leaves_keys_as_they_always_were() -> None:
    assert SAMPLE.key == "064309f765271fb50770ed5f13e994bafe235924a1ec025f5388f9271391b293"
    named = replace(SAMPLE, cell=replace(CELL, endpoint="here"))
    assert (named.seed, named.cell.endpoint) == (SAMPLE.seed, "here")


def test_all_models_are_shown_the_same_draws() -> None:
    other = replace(SAMPLE, cell=replace(CELL, model="other"))
    assert other.seed == SAMPLE.seed
    assert replace(SAMPLE, version=2).seed != SAMPLE.seed
