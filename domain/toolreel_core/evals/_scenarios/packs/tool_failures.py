"""Scenarios whose world goes wrong by itself, so that recovery is measured and no model has to misbehave."""

from __future__ import annotations

from typing import Final

from toolreel_core._plan.presets.preset import Preset
from toolreel_core.evals._scenarios.checks import called_before, error_occurred, exercise
from toolreel_core.evals._scenarios.packs.on_workspace import DONE, DRAFT, opening, patch
from toolreel_core.evals._scenarios.scenario import Scenario
from toolreel_core.evals._scenarios.scripts import ScenarioScripts, call, script
from toolreel_core.evals._worlds.workspace import Mishaps

_JOB: Final = """\
You edit a workspace with tools, and nobody is there to be asked.
- Read the workspace with state_get, then set /draft/foo to the string "bar" with state_patch.
- Make one tool call in a message, and look at "ok" in its result. If it is false, do what helps.
- When /draft/foo is "bar", answer with the one sentence: Done."""

_READ: Final = call("state_get")
_WRITE: Final = call("state_patch", **patch())
_TOLERANT: Final = {"config": {"tool_failure_policy": "tolerated"}}

FAULTS: Final = (
    Scenario(
        "patch_fails_once",
        "faults",
        "The first patch fails for no fault of the model, and works when it is made again.",
        1,
        (),
        opening(_JOB, mishaps=Mishaps(failing_patches=(1,))),
        (DONE, DRAFT, exercise("failed_once", error_occurred("UNAVAILABLE"))),
        scripts=ScenarioScripts(script(_READ, _WRITE, _WRITE, "Done."), script(_READ, _WRITE, "Done.")),
    ),
    Scenario(
        "first_read_cut",
        "faults",
        "Only half of the first read arrives.",
        1,
        (),
        opening(_JOB, mishaps=Mishaps(cut_reads=(1,))),
        (
            DONE,
            DRAFT,
            exercise("cut", error_occurred("TOOL_OUTPUT_NOT_JSON", "state_get")),
            exercise("state_get_first", called_before("state_get", before="state_patch")),
        ),
        Preset.of("first_read_cut", _TOLERANT),
        ScenarioScripts(
            script(_READ, _READ, _WRITE, "Done."), script(_READ, "Done."), script(_WRITE, "Done.")
        ),
    ),
    Scenario(
        "first_read_huge",
        "faults",
        "The first read brings far more than was asked for.",
        1,
        (),
        opening(_JOB, mishaps=Mishaps(huge_reads=(1,))),
        (DONE, DRAFT, exercise("too_large", error_occurred("TOOL_OUTPUT_TOO_LARGE", "state_get"))),
        Preset.of(
            "first_read_huge",
            {"config": {"max_tool_output_bytes": 5_000, "tool_failure_policy": "tolerated"}},
        ),
        ScenarioScripts(
            script(_READ, call("state_get", select=["/draft"]), _WRITE, "Done."),
            script(_READ, "Done."),
            script(_WRITE, "Done."),
        ),
    ),
)
"""Three ways in which the world can fail."""
