"""Probing an endpoint: questions, findings, presets."""

# mypy: implicit-reexport

from toolreel_core._probe.finding import Finding, findings, observed_findings
from toolreel_core._probe.fitting import (
    Compared,
    Rules,
    Setting,
    compare_with_preset,
    decided_settings,
    preset_tree,
)
from toolreel_core._probe.observation import Answered, Unanswered, Why, observe
from toolreel_core._probe.probing import REPEAT, Ask, Cost, Probing, estimate
from toolreel_core._probe.question import Known, Question, WrittenRequest, questions_of, select_questions
from toolreel_core._probe.verdict import Verdict, Word
