"""Names of tools: the inner one, and the one under which a model sees the tool.

Providers refuse names that do not fit ``^[a-zA-Z0-9_-]{1,64}$``. Inside, a name may say more, such as
``files.read``: outward that is ``files_read``. Models write either, so either is understood.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from toolreel_core._errors import ConfigError
from toolreel_core._internal.names import fits
from toolreel_core._jsontext.digest import digest

_INNER: Final = re.compile(r"[a-zA-Z0-9_./:-]{1,256}")
_FOREIGN: Final = re.compile(r"[^a-zA-Z0-9_-]")
_UNFIT: Final = re.compile(r"[^a-zA-Z0-9_./:-]")
_MAX_LENGTH: Final = 64
_MAX_SHOWN: Final = 80
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


@lru_cache(maxsize=1024)
def outward_name(name: str) -> str:
    """The name that goes to a provider, always the same for the same inner name.

    >>> outward_name("files.read")
    'files_read'
    >>> outward_name("x" * 70)
    'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_c71bd109'
    """
    fitting = _FOREIGN.sub("_", name)
    if len(fitting) <= _MAX_LENGTH:
        return fitting
    return f"{fitting[: _MAX_LENGTH - _DIGITS - 1]}_{digest(name)[:_DIGITS]}"


def prefixed_name(*parts: str) -> str:
    """The inner name of a tool that a source offers, such as an MCP server: its prefix before its own name.

    What an inner name cannot hold becomes ``_``; two names that become alike are told apart by nobody, and
    a surface refuses them.

    >>> prefixed_name("mcp", "my files", "read.text")
    'mcp_my_files_read.text'
    """
    return _UNFIT.sub("_", "_".join(parts))


def shown(name: str) -> str:
    """A name as it is told back: models make names up, some of them as long as a page.

    >>> shown("files.read"), len(shown("x" * 9_000))
    ('files.read', 81)
    """
    return name if len(name) <= _MAX_SHOWN else f"{name[:_MAX_SHOWN]}…"


def matches(pattern: str, name: str) -> bool:
    """Whether a tool of this inner name is meant by a pattern, in either form; ``*`` stands for any text.

    >>> matches("files.*", "files.read"), matches("files_*", "files.read"), matches("files", "files.read")
    (True, True, False)
    """
    return any(fits(pattern, form) for form in {name, outward_name(name)})
