"""The scenarios whose world fails, so that recovery is measured without the model having to misbehave."""

from __future__ import annotations

from typing import Final

from toolreel_core.evals._scenarios.builtin.cases import drawn
from toolreel_core.evals._scenarios.builtin.workspace_task import FINAL, READ, READ_FIRST, Task, patching
from toolreel_core.evals._scenarios.checks import called_before, error_occurred, exercise, outcome
from toolreel_core.evals._scenarios.draws import Draws
from toolreel_core.evals._scenarios.scenario import Case
from toolreel_core.evals._scenarios.scripted_model import ScenarioScripts, call, script
from toolreel_core.evals._worlds.facts_and_draft import Mishaps

_FAULTS_JOB: Final = """\
You edit a workspace with tools, and nobody is there to be asked.
- Read the workspace with state_get, then change <path> from "<old>" to the string "<value>" with state_patch.
- Make one tool call in a message, and look at "ok" in its result. If it is false, do what helps.
- When <path> is "<value>", answer with the one sentence: Done."""


def _patch_fails_once(draws: Draws) -> Case:
    task = Task.of(draws)
    return task.case(
        _FAULTS_JOB,
        mishaps=Mishaps(failing_patches=(1,)),
        checks=(
            outcome("state_get_first", called_before("state_get", before="state_patch")),
            exercise("failed_once", error_occurred("UNAVAILABLE")),
        ),
        scripts=ScenarioScripts(
            script(READ, patching(task), patching(task), FINAL), script(READ, patching(task), FINAL)
        ),
    )


def _first_read_cut(draws: Draws) -> Case:
    task = Task.of(draws)
    return task.case(
        _FAULTS_JOB,
        mishaps=Mishaps(cut_reads=(1,)),
        checks=(exercise("cut", error_occurred("TOOL_OUTPUT_NOT_JSON", "state_get")), READ_FIRST),
        scripts=ScenarioScripts(
            script(READ, READ, patching(task), FINAL),
            script(READ, FINAL),
            script(patching(task), FINAL),
        ),
    )


def _first_read_huge(draws: Draws) -> Case:
    task = Task.of(draws)
    return task.case(
        _FAULTS_JOB,
        mishaps=Mishaps(huge_reads=(1,)),
        checks=(exercise("too_large", error_occurred("TOOL_OUTPUT_TOO_LARGE", "state_get")), READ_FIRST),
        scripts=ScenarioScripts(
            script(READ, call("state_get", select=["/draft"]), patching(task), FINAL),
            script(READ, FINAL),
            script(patching(task), FINAL),
        ),
    )


FAULTS: Final = (
    drawn(
        "patch_fails_once",
        "faults",
        "The first patch fails for no fault of the model, and works when it is made again.",
        _patch_fails_once,
    ),
    drawn(
        "first_read_cut",
        "faults",
        "Only half of the first read arrives.",
        _first_read_cut,
        config={"tool_failure_policy": "tolerated"},
    ),
    drawn(
        "first_read_huge",
        "faults",
        "The first read brings far more than was asked for.",
        _first_read_huge,
        config={"max_tool_output_bytes": 5_000, "tool_failure_policy": "tolerated"},
    ),
)
"""Three ways in which the world can fail."""
