"""What is fixed before a run, and the request bodies that follow from it."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel_core._plan.catalogue import (
        Model,
        Presets,
        Recommendation,
        SamplingProfile,
        matches_model,
    )
    from toolreel_core._plan.output import (
        ANSWER,
        AskedBy,
        OutputSpec,
        answer_request_sentence,
        output_instruction,
    )
    from toolreel_core._plan.plan import (
        OF_RUN,
        REASONS,
        FallbackPlan,
        FallbackReason,
        ForeignReasoning,
        Plan,
        unknown_price_error_text,
    )
    from toolreel_core._plan.preset import (
        LIST_SETTINGS,
        Preset,
        SettingChange,
        checked_request_options,
        exact_config_patch,
        preset_changes,
        read_overrides,
    )
    from toolreel_core._plan.request import (
        MAX_TOKENS,
        OUTPUT_CAPS,
        Bodies,
        IgnoredWhy,
        Request,
        RequestOptions,
        accepted_options,
        build_request_bodies,
        options_for_form,
        pin_to_upstream,
        reserved_override_keys,
        translate_options,
    )
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)
