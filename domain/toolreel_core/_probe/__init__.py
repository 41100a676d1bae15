"""Probing an endpoint: questions, findings, presets."""

# mypy: implicit-reexport

from toolreel_core._probe.comparison import Compared, compared
from toolreel_core._probe.estimate import Cost, estimate
from toolreel_core._probe.finding import Finding, findings, observed, trees
from toolreel_core._probe.fitting import Setting, preset_tree, settings
from toolreel_core._probe.histories import (
    own_turn,
)
from toolreel_core._probe.known_facts import Known
from toolreel_core._probe.observation import Answered, Detour, Refused, Stop, Unreadable, observe
from toolreel_core._probe.probing import REPEAT, Ask, Probing, Stopped, StoppedWhy
from toolreel_core._probe.question import Question
from toolreel_core._probe.questions.catalogue import QUESTIONS, selected
from toolreel_core._probe.questions.others import NO_MODEL
from toolreel_core._probe.verdict import Verdict, Word
from toolreel_core._probe.written_request import WrittenRequest, spoken
