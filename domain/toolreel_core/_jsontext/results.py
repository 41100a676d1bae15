"""Leaving a pipeline of :class:`returns.result.Result`: the value, or the failure, as a plain union."""

from __future__ import annotations

from typing import TypeVar

from returns.pipeline import is_successful
from returns.result import Result

__all__ = ["either"]

_Value = TypeVar("_Value")
_Error = TypeVar("_Error")


def either(result: Result[_Value, _Error]) -> _Value | _Error:
    """What a pipeline came to, ready for ``match``.

    >>> from returns.result import Success
    >>> either(Success(3))
    3
    """
    return result.unwrap() if is_successful(result) else result.failure()
