"""What is fixed before a run, and the request bodies that follow from it."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

from toolreel_core._plan.constrained_calls import ANSWER, ANSWER_TOOL, Constraint
from toolreel_core._plan.fallback import OF_RUN, REASONS, FallbackPlan, FallbackReason, ForeignReasoning
from toolreel_core._plan.output import AskedBy, OutputSpec, instruction, is_strict, opening, request_for
from toolreel_core._plan.plan import Plan, refusal_of_unknown_cost
from toolreel_core._plan.request import (
    Bodies,
    IgnoredWhy,
    Request,
    RequestOptions,
    accepted_options,
    bodies_of,
    pinned,
    reserved_keys,
)
from toolreel_core._plan.wire_options import MAX_TOKENS, is_unsaid, options_in, words_in

if TYPE_CHECKING:
    from toolreel_core._plan.presets.collection import (
        Measured,
        Model,
        Presets,
        Recommendation,
        SamplingProfile,
    )
    from toolreel_core._plan.presets.model_patterns import means
    from toolreel_core._plan.presets.preset import (
        LISTS,
        Change,
        NamesPatch,
        Preset,
        changes,
        differences,
        exact_config,
        joined,
        request_options,
    )
else:

    def __getattr__(name: str) -> object:
        """Load what few programs need when it is first used."""
        match name:
            case "Measured" | "Model" | "Presets" | "Recommendation" | "SamplingProfile":
                from toolreel_core._plan.presets import collection as home
            case "bare" | "means":
                from toolreel_core._plan.presets import model_patterns as home
            case (
                "Change"
                | "LISTS"
                | "NamesPatch"
                | "Preset"
                | "changes"
                | "differences"
                | "exact_config"
                | "joined"
                | "request_options"
            ):
                from toolreel_core._plan.presets import preset as home
            case _:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(home, name)
