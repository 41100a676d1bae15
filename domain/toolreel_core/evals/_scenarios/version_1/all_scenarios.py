"""All scenarios of version 1, in the order of their catalogue."""

from __future__ import annotations

from typing import Final

from toolreel_core.evals._scenarios.scenario import Scenario
from toolreel_core.evals._scenarios.version_1.desk_scenarios import (
    AMBIGUITY,
    BASICS,
    CHAINS,
    CHOICE,
    INJECTION,
    LOCALES,
    RESTRAINT,
)
from toolreel_core.evals._scenarios.version_1.workspace_scenarios import CAPPED, FAULTS, REFERENCE

VERSION_1: Final[tuple[Scenario, ...]] = (
    *REFERENCE,
    *FAULTS,
    *BASICS,
    *RESTRAINT,
    *CHOICE,
    *CHAINS,
    *INJECTION,
    *AMBIGUITY,
    *LOCALES,
    *CAPPED,
)
"""The reference's eight first."""
