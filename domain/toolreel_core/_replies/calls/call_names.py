"""Names of tool calls: the tool that a call means.

A name is only changed into the name of a tool that exists; letter case, hyphens and near misses are left
alone, because a wrong guess would run the wrong tool.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from toolreel_core._replies.warning_codes import WarningCode

_PREFIXES: Final = ("functions.", "default_api.", "default_api:", "tool:")
# `ping<|channel|>commentary`: everything from the first token on; U+FF5C is DeepSeek's full-width bar.
_LEAKED: Final = re.compile(r"<[|\uff5c\u2016]")
# `tool_12</arg_value>` (GLM).
_CLOSING_TAG: Final = re.compile(r"</\w{1,64}>\Z")
_KIMI_INDEX: Final = re.compile(r"(?<=.):\d{1,6}\Z")
"""Kimi's ids are ``functions.name:0``, and some servers send them as names."""


def meant_name(
    given: str, known: Collection[str], *, exact: bool = False
) -> tuple[str, tuple[WarningCode, ...]]:
    """The tool name that a call means, with the warnings about it.

    >>> meant_name(" functions.ping<|channel|>commentary", {"ping"})
    ('ping', ('NAME_NORMALIZED',))
    >>> meant_name("Ping", {"ping"})
    ('Ping', ('NAME_UNKNOWN',))

    :param exact: whether to return every name unchanged
    """
    if given in known:
        return given, ()
    if exact:
        return given, ("NAME_UNKNOWN",)
    # A name that begins with a leaked token has nothing before it, so the whole name is kept.
    bare = _LEAKED.split(given, maxsplit=1)[0].strip() or given.strip()
    name = next((form for form in _forms(bare) if form in known), bare)
    changed: tuple[WarningCode, ...] = ("NAME_NORMALIZED",) if name != given else ()
    return name, changed if name in known else (*changed, "NAME_UNKNOWN")


def _forms(bare: str) -> Iterator[str]:
    """Candidate names, the least changed first; none is used unless such a tool exists."""
    yield bare
    yield bare.replace(".", "_")
    stripped = _CLOSING_TAG.sub("", bare)
    yield stripped
    half = bare[: len(bare) // 2]
    if bare == half * 2:  # from a stream that repeats the name in every chunk
        yield half
    for prefix in _PREFIXES:
        if stripped.startswith(prefix):
            rest = stripped.removeprefix(prefix)
            yield rest
            yield rest.replace(".", "_")
            yield _KIMI_INDEX.sub("", rest)
