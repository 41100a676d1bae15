"""Frozen values, made as fast as those that are not.

A frozen dataclass sets its own fields through ``object.__setattr__``, one by one, which takes most of the
time of making it. Values that every turn makes are filled in first and frozen afterwards: they begin as
an open twin of their class, with the same fields in the same slots, and then become the class itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, fields, make_dataclass
from typing import Any, ParamSpec, TypeVar, cast

__all__ = ["maker"]

_Fields = ParamSpec("_Fields")
_Value = TypeVar("_Value")


def maker(kind: Callable[_Fields, _Value]) -> Callable[_Fields, _Value]:
    """What makes the same values as a frozen, slotted dataclass does.

    >>> from toolreel_core._replies.usage import Usage
    >>> maker(Usage)(11, 7) == Usage(11, 7)
    True

    The fields are given by their places. What the class has to do after its fields are set is done.
    """
    frozen = cast("type[Any]", kind)
    shape = [
        (
            item.name,
            object,
            field(default=item.default, default_factory=item.default_factory, init=item.init),
        )
        for item in fields(frozen)
    ]

    def freeze(value: object) -> None:
        value.__class__ = frozen

    def freeze_and_finish(value: object) -> None:
        value.__class__ = frozen
        frozen.__post_init__(value)

    last = freeze_and_finish if hasattr(frozen, "__post_init__") else freeze
    # A twin lives for a moment and is never shown, compared or documented; to compile that takes time.
    namespace = {"__doc__": frozen.__doc__, "__post_init__": last}
    twin = make_dataclass(
        frozen.__name__,
        shape,
        bases=getattr(frozen, "__orig_bases__", ()),  # a generic class has those of its base in its layout
        namespace=namespace,
        slots=True,
        repr=False,
        eq=False,
        match_args=False,
    )
    return cast("Callable[_Fields, _Value]", twin)
