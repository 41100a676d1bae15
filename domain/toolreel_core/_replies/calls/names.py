"""Names in calls, as models and servers spoil them.

A name is only ever changed into that of a tool that there is; letter case, hyphens and near misses
are never guessed. What a chat template leaks into a name is cut off
(fireworks-ai/python-sdk#119, NousResearch/hermes-agent#24411), and so is a name that was written twice.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from toolreel_core._replies.warnings import WarningCode

__all__ = ["as_it_stands", "meant_name"]

_PREFIXES: Final = ("functions.", "default_api.", "default_api:", "tool:")
_LEAKED: Final = re.compile(r"<[|\uff5c]")
_CLOSING_TAG: Final = re.compile(r"</\w{1,64}>\Z")
_KIMI_INDEX: Final = re.compile(r"(?<=.):\d{1,6}\Z")
"""Kimi's ids are ``functions.name:0``, and some servers give them as names."""


def meant_name(given: str, known: Collection[str]) -> tuple[str, tuple[WarningCode, ...]]:
    """The name that a call means, and what was done about it.

    >>> meant_name(" functions.ping<|channel|>commentary", {"ping"})
    ('ping', ('NAME_NORMALIZED',))
    >>> meant_name("Ping", {"ping"})
    ('Ping', ('NAME_UNKNOWN',))

    :param given: a name that is not blank
    :param known: the names of tools that there are
    """
    if given in known:
        return given, ()
    # A name that is a leaked token from the start has no other part that could be meant.
    bare = _LEAKED.split(given, maxsplit=1)[0].strip() or given.strip()
    name = next((form for form in _forms(bare) if form in known), bare)
    changed: tuple[WarningCode, ...] = ("NAME_NORMALIZED",) if name != given else ()
    return name, changed if name in known else (*changed, "NAME_UNKNOWN")


def as_it_stands(given: str, known: Collection[str]) -> tuple[str, tuple[WarningCode, ...]]:
    """The name unchanged, and whether there is such a tool.

    >>> as_it_stands(" ping", {"ping"})
    (' ping', ('NAME_UNKNOWN',))
    """
    return given, () if given in known else ("NAME_UNKNOWN",)


def _forms(bare: str) -> Iterator[str]:
    """The names that it could stand for, the nearest first."""
    yield bare
    yield bare.replace(".", "_")
    stripped = _CLOSING_TAG.sub("", bare)
    yield stripped
    half = bare[: len(bare) // 2]
    if bare == half * 2:  # joined from pieces that each had the whole name
        yield half
    for prefix in _PREFIXES:
        if stripped.startswith(prefix):
            rest = stripped.removeprefix(prefix)
            yield rest
            yield rest.replace(".", "_")
            yield _KIMI_INDEX.sub("", rest)
