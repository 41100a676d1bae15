"""Masking: a surface without the tools that patterns exclude."""

from __future__ import annotations

from collections.abc import Iterable

from toolreel_core._errors import ConfigError
from toolreel_core._internal import unknown_name
from toolreel_core._tools.names import matches, outward_name
from toolreel_core._tools.surface import ToolSurface


def masked(
    surface: ToolSurface, *, allow: Iterable[str] | None = None, deny: Iterable[str] = ()
) -> ToolSurface:
    """The surface without the tools that the patterns exclude; masked tools are neither sent nor run.

    A pattern is an inner or outward name in which ``*`` stands for any text.

    :param allow: the tools to keep; ``None`` for all, an empty list for none
    :param deny: the tools to exclude, even if ``allow`` has them
    :raises ConfigError: if a pattern matches no tool
    """
    allowed = None if allow is None else _patterns("allow", allow, surface)
    denied = _patterns("deny", deny, surface)
    if allowed is None and not denied:
        return surface
    kept = tuple(tool for tool in surface.definitions if _may(tool.name, allowed, denied))
    gone = tuple(tool.name for tool in surface.definitions if not _may(tool.name, allowed, denied))
    return ToolSurface(kept, (*surface.masked, *gone))


def _may(name: str, allowed: tuple[str, ...] | None, denied: tuple[str, ...]) -> bool:
    if any(matches(pattern, name) for pattern in denied):
        return False
    return allowed is None or any(matches(pattern, name) for pattern in allowed)


def _patterns(mask: str, given: Iterable[str], surface: ToolSurface) -> tuple[str, ...]:
    """The checked patterns: one that matches nothing is a typo, which could let tools through."""
    if isinstance(given, str):
        raise ConfigError(f"{mask}: expected a list of names, got {given!r}")
    patterns, names = tuple(given), (*(tool.name for tool in surface.definitions), *surface.masked)
    for pattern in patterns:
        if any(matches(pattern, name) for name in names):
            continue
        if not names:
            raise ConfigError(f"{mask}: there is no tool {pattern!r}; there are no tools at all")
        forms = tuple(dict.fromkeys(form for name in names for form in (name, outward_name(name))))
        raise ConfigError(f"{mask}: {unknown_name('tool', pattern, forms)}")
    return patterns
