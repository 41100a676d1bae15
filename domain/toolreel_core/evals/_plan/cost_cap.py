"""Whether the cost that a plan caps can be known: a cap on what nobody counts would cap nothing."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from toolreel_core._internal.config_checks import PlaceError
from toolreel_core._settings.provider_support import Provider
from toolreel_core.evals._plan.cost_estimate import unpriced
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._scenarios.catalogue import kind_of

_SHOWN: Final = 5


def check_cost_cap(plan: EvalPlan) -> None:
    """Refuse a cap of the cost where the cost of a model will not be known.

    It is known by a price of the plan, or from a provider that reports costs. Scripts cost nothing.

    :raises PlaceError: at ``budget.max_cost``, or that of one run; names the models and a remedy
    """
    places = [name for name in plan.endpoints if not _reports_cost(plan, name)]
    measured = [model for model in plan.models if not kind_of(model)]
    if plan.budget.max_cost is not None:
        _check(plan, ("budget", "max_cost"), measured, places)
    if plan.budget.run_max_cost is not None:
        _check(plan, ("budget", "run", "max_cost"), measured, places)


def _check(
    plan: EvalPlan, place: tuple[str, ...], models: Collection[str], endpoints: Collection[str]
) -> None:
    unknown = unpriced(plan, models, endpoints)
    if not unknown:
        return
    names = ", ".join(unknown[:_SHOWN]) + (f" and {len(unknown) - _SHOWN} others" if unknown[_SHOWN:] else "")
    where = ' or [endpoints.NAME.prices."MODEL"]' if plan.named_endpoints else ""
    what = (
        f'nobody knows what {names} will cost; write [prices."MODEL"]{where} with prompt and completion, '
        "name a provider that reports costs, such as openrouter, or leave max_cost out and limit max_tokens"
    )
    raise PlaceError(place, what)


def _reports_cost(plan: EvalPlan, endpoint: str) -> bool:
    known = plan.presets.defaults(plan.endpoint_at(endpoint).provider).changes()["provider"]
    return Provider.of(known).reports_cost == "yes"
