"""One shard of a plan, for evaluations that several machines run."""

from __future__ import annotations

from dataclasses import replace

from toolreel._internal.errors import EvalPlanError
from toolreel.evals._runner.adaptive import rule_of
from toolreel_core._errors import ConfigError
from toolreel_core.evals._plan.cells import Shard
from toolreel_core.evals._plan.eval_plan import EvalPlan


def sharded(plan: EvalPlan, shard: str) -> EvalPlan:
    """The part of a plan that one of several machines runs.

    Each has an equal part of every cell, and of ``budget.max_cost`` and ``budget.max_tokens``.

    :param shard: such as ``1/3`` for the first of three
    :raises EvalPlanError: if that is no shard, or the plan has a rule for stopping early
    """
    if rule_of(plan):
        raise EvalPlanError(
            "--shard: the plan's [adaptive] rule looks at all runs of a cell, and a shard has only some; "
            "leave [adaptive] out, or run the plan on one machine"
        )
    try:
        return replace(plan, shard=Shard.of(shard))
    except ConfigError as error:
        raise EvalPlanError(f"--shard: {error}") from None
