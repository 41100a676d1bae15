"""The plan of an evaluation that has been run, made again from its header."""

from __future__ import annotations

from toolreel._errors import ResultsError
from toolreel.evals._store.results import Header
from toolreel.presets._catalogues import with_files
from toolreel_core._errors import ConfigError
from toolreel_core.evals._plan.plan import EvalPlan
from toolreel_core.evals._scenarios.catalogue import SCENARIOS

__all__ = ["plan_in"]


def plan_in(header: Header) -> EvalPlan:
    """The plan that a header tells of, with the catalogue and the scenarios of today.

    :raises ResultsError: if it names what there is not any longer
    """
    try:
        return EvalPlan.of(header.plan, with_files(), SCENARIOS)
    except (ConfigError, KeyError) as error:
        raise ResultsError(f"the plan of these results cannot be made again: {error}") from None
