"""Named pure functions from tree to tree, for what is sent and received.

Configuration names them; :func:`register_transform` adds a user's own.
"""

# mypy: implicit-reexport

# Importing these registers the transforms in them.
from toolreel_core._transforms import messages, response_tool_calls, tools
from toolreel_core._transforms.messages import (
    FAMILIES,
    content_null_if_blank,
    neutralized,
    neutralized_content,
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
from toolreel_core._transforms.response_tool_calls import (
    arguments_blank_to_empty_object,
    arguments_json_string_if_hash,
    content_tool_call_tags_to_tool_calls,
    function_call_to_tool_calls,
    tool_calls_object_to_array,
)
from toolreel_core._transforms.tools import (
    compact_envelope,
    schema_gemini_subset,
    schema_inline_defs,
    schema_strip_strict,
    strip_function_descriptions,
    strip_strict,
    tool_example_call,
    tool_first_sentences,
    tool_required_properties,
)

# Public; the other names are for this project's own packages and tests.
__all__ = [
    "KINDS",
    "Transform",
    "TransformKind",
    "apply_all",
    "messages",
    "names",
    "register_transform",
    "response_tool_calls",
    "tools",
    "transform",
]
