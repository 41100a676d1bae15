"""JSON Schemas as they are sent: what some provider refuses, although it means nothing, is left out.

An empty ``required: []`` says the same as none, and validators of the older drafts refuse it.
"""

from __future__ import annotations

from collections.abc import Mapping

from toolreel_core._jsontext.canonical import Json
from toolreel_core._schema.walk import changed_within

__all__ = ["sendable"]


def sendable(schema: Json) -> Json:
    """A schema without empty ``required`` lists, at any depth; everything else stays, in its order.

    >>> sendable({"type": "object", "required": [], "default": {"required": []}})
    {'type': 'object', 'default': {'required': []}}
    """
    if not isinstance(schema, Mapping):
        return schema
    kept = {keyword: value for keyword, value in schema.items() if keyword != "required" or value}
    return changed_within(kept, sendable)
