"""Named pure functions on messages, tools, responses, calls and results."""

from toolreel_core._settings import Transform, register_transform, transform

__all__ = [
    "Transform",
    "register_transform",
    "transform",
]
