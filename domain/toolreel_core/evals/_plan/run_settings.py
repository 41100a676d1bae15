"""What an evaluation asks of every run, whatever the strategy: modes, policies and the caps of one run."""

from __future__ import annotations

from toolreel_core._jsontext.canonical import Json, canonical
from toolreel_core._plan.presets.preset import Preset
from toolreel_core.evals._plan.endpoints import Budget
from toolreel_core.evals._plan.options import Options

__all__ = ["asked_of_every_run"]

_MS_A_MINUTE = 60_000


def asked_of_every_run(options: Options) -> Preset:
    """The patch that goes over what a strategy knows, and under a model's workarounds.

    >>> asked_of_every_run(Options(fix_empty_final=False)).changes()["config"]["fix_empty_final"]
    False
    """
    wanted: dict[str, Json] = {
        "tool_use_mode": options.tool_use_mode,
        "tool_failure_policy": options.tool_failure_policy,
        "fix_empty_final": options.fix_empty_final,
        "fallback_without_tools": options.fallback_retries > 0,
        **_caps(options.budget),
    }
    asked = Preset(config=canonical(wanted), request_overrides=options.request_overrides)
    return asked.merged(Preset(config=options.loop))


def _caps(budget: Budget) -> dict[str, Json]:
    """The caps of one run as limits of its loop."""
    caps: dict[str, Json] = {}
    if budget.run_max_cost is not None:
        caps["max_cost"] = budget.run_max_cost
    if budget.run_max_tokens is not None:
        caps["max_total_tokens"] = max(1, int(budget.run_max_tokens))
    if budget.run_max_minutes is not None:
        caps["max_wall_ms"] = max(1, int(budget.run_max_minutes * _MS_A_MINUTE))
    return caps
