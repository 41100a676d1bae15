"""What a plan would probably cost, from assumptions that are told with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolreel_core.evals._plan.eval_plan import EvalPlan

__all__ = ["CONTROL_RUN", "TOOL_RUN", "AssumedRun", "Estimate", "estimate_cost"]


@dataclass(frozen=True, slots=True)
class AssumedRun:
    """What one run is taken to be."""

    requests: float
    prompt_tokens: float
    """Of all its requests together."""
    completion_tokens: float
    seconds: float

    def __str__(self) -> str:
        """The assumption in words."""
        tokens = f"{self.prompt_tokens:,.0f} tokens in and {self.completion_tokens:,.0f} out"
        return f"{self.requests:g} requests, {tokens}, {self.seconds:g} s"


TOOL_RUN: Final = AssumedRun(4, 4_000, 300, 8.2)
"""A run of a tool scenario: read, write, correct, answer; the time is the median of the case study."""
CONTROL_RUN: Final = AssumedRun(1, 60, 10, 2.0)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a plan would come to."""

    runs: int
    requests: float
    prompt_tokens: float
    completion_tokens: float
    minutes: float
    """With as many jobs as the plan has."""
    cost: float | None
    """Of the models that have a price, in its currency; ``None``: none of them has."""
    unpriced: tuple[str, ...]
    """The models whose price nobody knows, which is not the same as nothing."""

    @property
    def tokens(self) -> float:
        """Prompts and completions together."""
        return self.prompt_tokens + self.completion_tokens


def estimate_cost(plan: EvalPlan) -> Estimate:
    """What a plan would come to if each run were as :data:`TOOL_RUN` and :data:`CONTROL_RUN` have it."""
    controls = sum(scenario.control for scenario in plan.scenarios)
    kinds = ((TOOL_RUN, len(plan.scenarios) - controls), (CONTROL_RUN, controls))
    shares = plan.task_count // len(plan.pairs) * plan.trials
    requests, prompt, completion, seconds = (
        sum(getattr(assumed, what) * scenarios for assumed, scenarios in kinds) * shares
        for what in ("requests", "prompt_tokens", "completion_tokens", "seconds")
    )
    pairs, prices = len(plan.pairs), dict(plan.options.prices)
    costs = [prices[model].cost(prompt, completion) for model, _ in plan.pairs if model in prices]
    return Estimate(
        plan.count,
        requests * pairs,
        prompt * pairs,
        completion * pairs,
        seconds * pairs / 60 / plan.jobs,
        sum(costs) if costs else None,
        tuple(model for model in plan.models if model not in prices),
    )
