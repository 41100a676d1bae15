"""Probing an endpoint: questions, findings, presets."""

# mypy: implicit-reexport

from toolreel_core._probe.finding import Finding, findings, observed
from toolreel_core._probe.fitting import Compared, Setting, compared, preset_tree, settings
from toolreel_core._probe.observation import Answered, Unanswered, Why, observe
from toolreel_core._probe.probing import REPEAT, Ask, Cost, Probing, estimate
from toolreel_core._probe.question import Known, Question, WrittenRequest
from toolreel_core._probe.questions import QUESTIONS, selected
from toolreel_core._probe.verdict import Verdict, Word
