"""Names of tools: the inner name, and the outward name that the model sees.

Providers reject names that do not match ``^[a-zA-Z0-9_-]{1,64}$``. An inner name such as ``files.read``
becomes ``files_read``. Models write either, so both are accepted.
"""

from __future__ import annotations

from typing import Final

from toolreel_core._errors import ConfigError
from toolreel_core._internal import fits
from toolreel_core._jsontext import digest
from toolreel_core._lazy_pattern import lazy_pattern

_MAX_INNER: Final = 256
_INNER: Final = lazy_pattern(rf"[a-zA-Z0-9_./:-]{{1,{_MAX_INNER}}}")
"""A tool's inner name."""
_FOREIGN: Final = lazy_pattern(r"[^a-zA-Z0-9_-]")
"""A character that providers refuse in names of functions."""
_UNFIT: Final = lazy_pattern(r"[^a-zA-Z0-9_./:-]")
"""A character that an inner name cannot have."""
_MAX_LENGTH: Final = 64
_MAX_SHOWN: Final = 80
_DIGITS: Final = 8
"""Digits of a digest at the end of a shortened name."""


def check_name(name: str) -> None:
    """Check an inner name.

    :raises ConfigError: if it is invalid
    """
    if not _INNER.fullmatch(name):
        raise ConfigError(
            f"tool name {name!r} does not fit {_INNER.pattern}; use letters, digits and _ . / : - only"
        )


def outward_name(name: str) -> str:
    """The name that is sent to a provider; the same inner name always gives the same one.

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
    """The inner name of a tool from a source such as an MCP server: a prefix and the tool's own name.

    Invalid characters become ``_``, and a name that is too long is shortened; for two names that become
    equal, see :func:`with_digest`.

    >>> prefixed_name("mcp", "my files", "read.text")
    'mcp_my_files_read.text'
    """
    name = "_".join(parts)
    fitting = _UNFIT.sub("_", name)
    return fitting if _INNER.fullmatch(fitting) else with_digest(fitting, name)


def with_digest(name: str, whole: str) -> str:
    """A name with the digest of what it stands for, where it alone is not unique.

    >>> with_digest("mcp_shop_a_b", "mcp_shop_a+b")
    'mcp_shop_a_b_e0415ac2'
    """
    return f"{name[: _MAX_INNER - _DIGITS - 1]}_{digest(whole)[:_DIGITS]}"


def shown(name: str) -> str:
    """A name for error texts, shortened: models invent names as long as a page.

    >>> shown("files.read"), len(shown("x" * 9_000))
    ('files.read', 81)
    """
    return name if len(name) <= _MAX_SHOWN else f"{name[:_MAX_SHOWN]}…"


def matches(pattern: str, name: str) -> bool:
    """Whether a pattern matches an inner name or its outward form; ``*`` stands for any text.

    >>> matches("files.*", "files.read"), matches("files_*", "files.read"), matches("files", "files.read")
    (True, True, False)
    """
    return any(fits(pattern, form) for form in {name, outward_name(name)})
