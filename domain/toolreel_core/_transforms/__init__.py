"""Named pure functions from tree to tree, for what is sent and received.

Configuration names them; :func:`register_transform` adds a user's own.
"""

# mypy: implicit-reexport

from toolreel_core._transforms.registry import (
    KINDS,
    Applied,
    Transform,
    TransformKind,
    apply_all,
    register_transform,
    transform,
    transform_names,
)
from toolreel_core._transforms.shipped import (
    FAMILIES,
    neutralized,
    signature_skip_validator_if_missing,
)

# Public; the other names are for this project's own packages and tests.
__all__ = [
    "KINDS",
    "Transform",
    "TransformKind",
    "apply_all",
    "register_transform",
    "transform",
    "transform_names",
]
