"""What is fixed before a run, and the request bodies that follow from it."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel_core._plan.catalogue import (
        Model,
        Presets,
        Recommendation,
        SamplingProfile,
        means,
    )
    from toolreel_core._plan.fallback import OF_RUN, REASONS, FallbackPlan, FallbackReason, ForeignReasoning
    from toolreel_core._plan.output import (
        ANSWER,
        AskedBy,
        OutputSpec,
        instruction,
        request_for,
    )
    from toolreel_core._plan.plan import Plan, refusal_of_unknown_cost
    from toolreel_core._plan.preset import (
        LISTS,
        Change,
        Preset,
        changes,
        exact_config,
        request_options,
    )
    from toolreel_core._plan.request import (
        MAX_TOKENS,
        Bodies,
        IgnoredWhy,
        Request,
        RequestOptions,
        accepted_options,
        bodies_of,
        options_in,
        pinned,
        reserved_keys,
        words_in,
    )
else:
    from toolreel_core._lazy_names import face

    __getattr__, __dir__ = face(__name__)
