"""Whether the cost that a plan caps can be known: a cap on what nobody counts would cap nothing."""

from __future__ import annotations

from typing import Final

from toolreel_core._internal.config_checks import PlaceError
from toolreel_core._settings.provider_support import Provider
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._scenarios.catalogue import kind_of

_SHOWN: Final = 5


def check_cost_cap(plan: EvalPlan) -> None:
    """Refuse a cap of the cost where the cost of a model will not be known.

    It is known by a price of the plan, or from a provider that reports costs. Scripts cost nothing.

    :raises PlaceError: at ``budget.max_cost``; names the models, and what to write instead
    """
    if plan.budget.max_cost is None or all(_reports_cost(plan, name) for name in plan.endpoints):
        return
    prices = dict(plan.options.prices)
    measured = [model for model in plan.models if not kind_of(model)]
    others = [name for one in plan.scenarios if measured for name in one.other_models]
    models = [model for model in dict.fromkeys((*measured, *others)) if model not in prices]
    if not models:
        return
    names = ", ".join(models[:_SHOWN]) + (f" and {len(models) - _SHOWN} others" if models[_SHOWN:] else "")
    what = (
        f'nobody knows what {names} will cost; write [prices."MODEL"] with prompt and completion, name a '
        "provider that reports costs, such as openrouter, or leave max_cost out and limit max_tokens"
    )
    raise PlaceError(("budget", "max_cost"), what)


def _reports_cost(plan: EvalPlan, endpoint: str) -> bool:
    known = plan.presets.defaults(plan.endpoint_at(endpoint).provider).changes()["provider"]
    return Provider.of(known).reports_cost == "yes"
