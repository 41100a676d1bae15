"""What holds for whatever a normaliser returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from toolreel_core._jsontext import JsonText, canonical, read_json
from toolreel_core._replies import WARNING_SENTENCES, ArgumentError

_Value = TypeVar("_Value")


def twice(compute: Callable[[], _Value]) -> _Value:
    """What a computation gives, which is the same when it is asked again."""
    first = compute()
    assert first == compute(), "the same input gave two different results"
    return first


def claim_arguments(arguments: JsonText | ArgumentError, *, depth: int) -> None:
    """Arguments are an error with a reason, or the canonical text of an object."""
    if isinstance(arguments, ArgumentError):
        return
    claim_text(arguments)
    tree = read_json(arguments, max_depth=depth, unique_keys=True).unwrap()
    assert isinstance(tree, Mapping), "arguments are no object"
    assert canonical(tree) == arguments, "arguments are not canonical"


def claim_text(text: str) -> None:
    """A text can be part of the next request."""
    text.encode("utf-8")


def claim_warnings(warnings: tuple[str, ...]) -> None:
    """Each warning has words, and stands once."""
    assert len(set(warnings)) == len(warnings), "a warning stands twice"
    assert [code for code in warnings if code not in WARNING_SENTENCES] == [], "a warning without words"
