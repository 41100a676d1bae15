"""What the runs of a plan would take and cost, and whether a cap of the cost can be kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from toolreel_core._internal import PlaceError
from toolreel_core._settings import Provider
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._scenarios.scripted_model import kind_of

_SHOWN: Final = 5


def check_cost_cap(plan: EvalPlan) -> None:
    """Refuse a cap of the cost where the cost of a model will not be known.

    It is known by a price of the plan, or from a provider that reports costs. Scripts cost nothing.

    :raises PlaceError: at ``budget.max_cost``, or that of one run; names the models and a remedy
    """
    known = {
        name: plan.presets.defaults(plan.endpoint_at(name).provider).changes()["provider"]
        for name in plan.endpoints
    }
    places = [name for name in plan.endpoints if Provider.of(known[name]).reports_cost != "yes"]
    unknown = _unpriced(plan, [model for model in plan.models if not kind_of(model)], places)
    caps = {
        ("budget", "max_cost"): plan.budget.max_cost,
        ("budget", "run", "max_cost"): plan.options.run_budget.max_cost,
    }
    for place in (place for place, cap in caps.items() if unknown and cap is not None):
        names = ", ".join(unknown[:_SHOWN])
        names += f" and {len(unknown) - _SHOWN} others" if unknown[_SHOWN:] else ""
        where = "" if "" in plan.endpoints else ' or [endpoints.NAME.prices."MODEL"]'
        what = (
            f'nobody knows what {names} will cost; write [prices."MODEL"]{where} with prompt and completion, '
            "name a provider that reports costs, such as openrouter, or leave max_cost out and limit "
            "max_tokens"
        )
        raise PlaceError(place, what)


@dataclass(frozen=True, slots=True)
class AssumedRun:
    """Assumed size of one run."""

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
    """Estimated requests, tokens, time and cost of a plan."""

    runs: int
    requests: float
    prompt_tokens: float
    completion_tokens: float
    minutes: float
    """With as many jobs as the plan has."""
    cost: float | None
    """Of the models that have a price, in its currency; ``None`` if none has."""
    unpriced: tuple[str, ...]
    """Models without a price, with their endpoints if there are several; they are unknown, not free."""


def estimate_cost(plan: EvalPlan) -> Estimate:
    """Estimate a plan by assuming :data:`TOOL_RUN` or :data:`CONTROL_RUN` for each run."""
    controls = sum(scenario.control for scenario in plan.scenarios)
    kinds = ((TOOL_RUN, len(plan.scenarios) - controls), (CONTROL_RUN, controls))
    shares = plan.task_count // len(plan.pairs) * plan.trials
    requests, prompt, completion, seconds = (
        sum(getattr(assumed, what) * scenarios for assumed, scenarios in kinds) * shares
        for what in ("requests", "prompt_tokens", "completion_tokens", "seconds")
    )
    pairs, places = len(plan.pairs), len(plan.endpoints)
    prices = [plan.options.price(model, place) for model, _ in plan.pairs for place in plan.endpoints]
    costs = [price.cost(prompt / places, completion / places) for price in prices if price]
    return Estimate(
        plan.count,
        requests * pairs,
        prompt * pairs,
        completion * pairs,
        seconds * pairs / 60 / plan.jobs,
        sum(costs) if costs else None,
        _unpriced(plan, plan.models, plan.endpoints),
    )


def _unpriced(plan: EvalPlan, models: Iterable[str], endpoints: Iterable[str]) -> tuple[str, ...]:
    """The models without a price at some of these endpoints, with its name if the plan has several."""
    places = [*endpoints]
    return tuple(
        f"{model} at {place}" if len(plan.endpoints) > 1 else model
        for model in models
        for place in places
        if plan.options.price(model, place) is None
    )
