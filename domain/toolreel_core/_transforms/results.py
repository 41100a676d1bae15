"""Transforms of tool results, as the envelope that a model reads."""

from __future__ import annotations

from typing import Final

from toolreel_core._jsontext.canonical import Tree
from toolreel_core._transforms.registry import register_transform

_FROM_THE_TOOL: Final = ("data", "warnings", "errors")


@register_transform(
    "tool_result",
    "tool_result_compact_envelope",
    about="Leaves out of an envelope what is empty, to spend fewer tokens on it.",
    evidence=("context-foundry/context-foundry#233", "taskgenius/taskgenius-plugin#506"),
)
def compact_envelope(envelope: Tree) -> Tree:
    """The envelope without data, warnings and errors that say nothing; ``ok`` and the name stay."""
    if all(envelope.get(key, True) for key in _FROM_THE_TOOL):
        return envelope
    return {key: value for key, value in envelope.items() if value or key not in _FROM_THE_TOOL}
