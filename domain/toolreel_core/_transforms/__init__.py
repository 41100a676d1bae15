"""Named pure functions from tree to tree, for what is sent and received.

Configuration names them; :func:`register_transform` adds a user's own.
"""

# Importing these registers the transforms in them.
from toolreel_core._transforms import messages, response_tool_calls, small_surfaces, tools
from toolreel_core._transforms.registry import (
    KINDS,
    Transform,
    TransformKind,
    apply_all,
    names,
    register_transform,
    transform,
)

__all__ = [
    "KINDS",
    "Transform",
    "TransformKind",
    "apply_all",
    "messages",
    "names",
    "register_transform",
    "response_tool_calls",
    "small_surfaces",
    "tools",
    "transform",
]
