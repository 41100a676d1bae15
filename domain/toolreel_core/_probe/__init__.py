"""Probing an endpoint: questions, findings, presets."""

# mypy: implicit-reexport

from toolreel_core._probe.findings import (
    Compared,
    Finding,
    Setting,
    SettingRules,
    compare_with_preset,
    decided_settings,
    findings,
    observed_findings,
    preset_tree,
)
from toolreel_core._probe.observation import ProbedReply, ProbeFailure, Why, observe
from toolreel_core._probe.probing import (
    MOST_REPEATS,
    REPEAT,
    Ask,
    ProbeCost,
    Probing,
    estimate_remaining_cost,
)
from toolreel_core._probe.question import (
    Known,
    Question,
    WrittenRequest,
    questions_in_catalogue,
    select_questions,
)
from toolreel_core._probe.verdict import AnswerVerdict, Word
