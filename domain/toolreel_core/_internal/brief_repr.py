"""The ``repr`` of a dataclass without fields that are empty, which nearly always are."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


def brief_repr(value: Any, *optional: str) -> str:  # noqa: ANN401 - any dataclass
    """The usual ``repr``, without these fields where they are empty; ``False`` is not.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Said:
    ...     text: str
    ...     parts: tuple = ()
    >>> brief_repr(Said("hi"), "parts")
    "Said(text='hi')"
    """
    given = [(item.name, getattr(value, item.name)) for item in fields(value) if item.repr]
    shown = [
        f"{name}={content!r}"
        for name, content in given
        if content or content is False or name not in optional
    ]
    return f"{type(value).__qualname__}({', '.join(shown)})"
