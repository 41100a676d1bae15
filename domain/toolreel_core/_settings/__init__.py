"""Settings of the loop and of a provider."""

# mypy: implicit-reexport

from toolreel_core._settings.costs import Estimator, Price, bytes_per_4, estimator, register_estimator
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
    KEPT,
    KEPT_IN,
    MESSAGES_BLOCKS,
    PART_SETTINGS,
    PATHS,
    RESPONSES_ITEMS,
    IdStyle,
    Provider,
    SchemaTransform,
    WireForm,
    chat_url,
    form_of,
    prefix_fault,
)
