"""Named pure functions from tree to tree, applied to what goes out and to what comes in.

Configuration names them; :func:`register_transform` adds a user's own.
"""

from toolreel_core._schema.gemini import gemini_subset
from toolreel_core._schema.inlining import inline_defs
from toolreel_core._transforms.calls import arguments_blank_to_empty_object
from toolreel_core._transforms.messages import (
    content_null_if_blank,
    reasoning_content_empty_if_missing,
    signature_skip_validator_if_missing,
    user_special_tokens_neutralized,
)
from toolreel_core._transforms.registry import (
    KINDS,
    Applied,
    Change,
    Transform,
    TransformKind,
    apply_all,
    names,
    register_transform,
    transform,
)
from toolreel_core._transforms.responses import (
    arguments_json_string_if_hash,
    content_tool_call_tags_to_tool_calls,
    function_call_to_tool_calls,
    tool_calls_object_to_array,
)
from toolreel_core._transforms.results import compact_envelope
from toolreel_core._transforms.tools import (
    SCHEMA_TRANSFORMS,
    SchemaTransform,
    schema_gemini_subset,
    schema_inline_defs,
    schema_strip_strict,
    strip_function_descriptions,
    strip_strict,
)

__all__ = [
    "KINDS",
    "SCHEMA_TRANSFORMS",
    "Applied",
    "Change",
    "SchemaTransform",
    "Transform",
    "TransformKind",
    "apply_all",
    "arguments_blank_to_empty_object",
    "arguments_json_string_if_hash",
    "compact_envelope",
    "content_null_if_blank",
    "content_tool_call_tags_to_tool_calls",
    "function_call_to_tool_calls",
    "gemini_subset",
    "inline_defs",
    "names",
    "reasoning_content_empty_if_missing",
    "register_transform",
    "schema_gemini_subset",
    "schema_inline_defs",
    "schema_strip_strict",
    "signature_skip_validator_if_missing",
    "strip_function_descriptions",
    "strip_strict",
    "tool_calls_object_to_array",
    "transform",
    "user_special_tokens_neutralized",
]
