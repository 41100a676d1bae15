"""The reference's caps on tokens, as variants of the two scenarios that it caps.

Reasoning counts, so a cap can cut an answer short, and what looks like a failure is none: hence the
scenarios themselves are generous, and these are there to be compared with.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from toolreel_core._plan.presets.preset import Preset
from toolreel_core.evals._scenarios.reference import CHAT_ONLY, LONG_ARGUMENTS_GUARD
from toolreel_core.evals._scenarios.scenario import Scenario

__all__ = ["CAPPED"]


def _capped(scenario: Scenario, tokens: int) -> Scenario:
    name = f"{scenario.name}_capped"
    cap = Preset.of(name, {"request_overrides": {"max_tokens": tokens}})
    about = f"{scenario.about} With the reference's cap of {tokens} tokens a reply."
    changes = replace(scenario.changes.merged(cap), names=(name,))
    return replace(scenario, name=name, pack="capped", about=about, groups=(), changes=changes)


CAPPED: Final = (_capped(LONG_ARGUMENTS_GUARD, 256), _capped(CHAT_ONLY, 32))
"""Each under its own name, so that both can stand in one plan."""
