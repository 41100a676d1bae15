"""What a tool raises to tell the model something."""

from __future__ import annotations

from toolreel_core._jsontext.canonical import Json

__all__ = ["ToolError"]


class ToolError(Exception):
    """Raised by a tool to tell the model what was wrong with its arguments, and what to do.

    :param code: one of the tool's own, for the model and for those who count errors
    :param data: figures that go with it, which JSON can carry
    """

    def __init__(self, message: str, code: str = "ARGUMENT_ERROR", data: Json = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data
