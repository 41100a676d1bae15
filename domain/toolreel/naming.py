"""Names of tools: the inner one, and the one under which a model sees the tool.

Providers refuse names that do not fit ``^[a-zA-Z0-9_-]{1,64}$``. Inside, a name may say more, such as
``files.read``: outward that is ``files_read``. Models write either, so either is understood.
"""

from __future__ import annotations

import re
from typing import Final

from toolreel.digest import digest
from toolreel.errors import ConfigError

__all__ = ["check_name", "matches", "outward_name"]

_INNER: Final = re.compile(r"[a-zA-Z0-9_./:-]{1,256}")
_FOREIGN: Final = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST: Final = 64
_DIGITS: Final = 8
"""Digits of a digest at the end of a shortened name."""


def check_name(name: str) -> None:
    """Make sure that a tool can have this inner name.

    :raises ConfigError: if it cannot
    """
    if not _INNER.fullmatch(name):
        raise ConfigError(
            f"tool name {name!r} does not fit {_INNER.pattern}; use letters, digits and _ . / : - only"
        )


def outward_name(name: str) -> str:
    """The name that goes to a provider, always the same for the same inner name.

    >>> outward_name("files.read")
    'files_read'
    >>> outward_name("x" * 70)
    'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_c71bd109'
    """
    fitting = _FOREIGN.sub("_", name)
    if len(fitting) <= _LONGEST:
        return fitting
    return f"{fitting[: _LONGEST - _DIGITS - 1]}_{digest(name)[:_DIGITS]}"


def matches(pattern: str, name: str) -> bool:
    """Whether a tool of this inner name is meant by a pattern, in either form; ``*`` stands for any text.

    >>> matches("files.*", "files.read"), matches("files_*", "files.read"), matches("files", "files.read")
    (True, True, False)
    """
    return any(_fits(pattern, form) for form in {name, outward_name(name)})


def _fits(pattern: str, text: str) -> bool:
    """Each part as early as it can stand: linear in the text, which a regular expression would not be."""
    first, *rest = pattern.split("*")
    if not rest:
        return pattern == text
    *middle, last = rest
    if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True
