"""Settings of the loop and of a provider, and the transforms that they name."""

# mypy: implicit-reexport

from toolreel_core._settings.costs import (
    Estimator,
    Price,
    estimate_tokens_by_bytes,
    estimator,
    register_estimator,
)
from toolreel_core._settings.loop_config import (
    DEFAULT_FINAL_TEXT,
    LoopConfig,
    OutputMode,
    RepeatedEffects,
    StreamMode,
    ToolFailurePolicy,
    ToolUseMode,
)
from toolreel_core._settings.provider_support import (
    API_PREFIX,
    KEPT_FIELDS,
    KEPT_IN,
    MESSAGES_BLOCKS,
    PART_SETTINGS,
    PATHS,
    RESPONSES_ITEMS,
    IdStyle,
    Provider,
    SchemaTransform,
    WireForm,
    api_prefix_error_text,
    chat_url,
    wire_form_of_url,
)
from toolreel_core._settings.transforms import (
    FAMILIES,
    Applied,
    Transform,
    TransformKind,
    apply_transforms,
    neutralize_control_tokens,
    register_transform,
    signature_skip_validator_if_missing,
    transform,
)
