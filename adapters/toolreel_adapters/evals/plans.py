"""The plan of an evaluation that has been run, made again from its header."""

from __future__ import annotations

from toolreel.errors import ConfigError
from toolreel.evals.catalogue import SCENARIOS
from toolreel.evals.planning import EvalPlan
from toolreel_adapters.catalogue import with_files
from toolreel_adapters.errors import ResultsError
from toolreel_adapters.evals.results import Header

__all__ = ["plan_in"]


def plan_in(header: Header) -> EvalPlan:
    """The plan that a header tells of, with the catalogue and the scenarios of today.

    :raises ResultsError: if it names what there is not any longer
    """
    try:
        return EvalPlan.of(header.plan, with_files(), SCENARIOS)
    except (ConfigError, KeyError) as error:
        raise ResultsError(f"the plan of these results cannot be made again: {error}") from None
