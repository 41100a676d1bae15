"""What a provider answered, after normalisation, and calls that a model wrote as text."""

from toolreel_core._replies import Delta, Reply, Stream, ToolCall, normalize_reply
from toolreel_core._text_calls import TextCalls, text_calls

__all__ = [
    "Delta",
    "Reply",
    "Stream",
    "TextCalls",
    "ToolCall",
    "normalize_reply",
    "text_calls",
]
