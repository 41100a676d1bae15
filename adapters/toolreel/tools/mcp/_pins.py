"""Pins: fingerprints of the accepted tool definitions of MCP servers.

They are in a file next to the configuration: those of ``mcp.json`` are in ``mcp.pins.json``. Without this
file all tools are offered; with it, new and changed tools are left out until you accept them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from toolreel._internal.errors import McpConfigError
from toolreel.tools.mcp._definitions import ServerTools, SkippedTool
from toolreel_core._jsontext.canonical import read
from toolreel_core._tools.surface import ToolSurface


def pins_of(surface: ToolSurface) -> dict[str, str]:
    """The fingerprints of all tools of a surface, for example of a stored plan."""
    return {tool.name: tool.fingerprint for tool in surface.definitions}


def pins_beside(config: Path) -> Path:
    """The path of the pins of a configuration.

    >>> pins_beside(Path("conf/mcp.json")).as_posix()
    'conf/mcp.pins.json'
    """
    return config.with_suffix(".pins.json")


def read_pins(path: Path | str) -> dict[str, str] | None:
    """The pins in a file; ``None`` if there is no file, so that all tools are offered.

    :raises McpConfigError: if it cannot be read
    """
    try:
        text = Path(path).read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise McpConfigError(f"{path}: cannot be read: {error}") from None
    pins = read(text).value_or(None)
    if not isinstance(pins, Mapping) or not all(isinstance(pin, str) for pin in pins.values()):
        raise McpConfigError(f"{path}: expected an object of fingerprints by name; accept the tools again")
    return {name: str(pin) for name, pin in pins.items()}


def write_pins(path: Path | str, pins: Mapping[str, str]) -> None:
    """Write pins, one per line, so that diffs are readable.

    :raises McpConfigError: if they cannot be written
    """
    try:
        Path(path).write_text(json.dumps(dict(sorted(pins.items())), indent=2) + "\n", "utf-8")
    except OSError as error:
        raise McpConfigError(f"{path}: cannot be written: {error.strerror}") from None


def unaccepted(offer: ServerTools, pins: Mapping[str, str] | None) -> tuple[SkippedTool, ...]:
    """The tools of a server that do not match their pins."""
    if pins is None:
        return ()
    return tuple(
        SkippedTool(name, _why(name, pins), "look at it, and accept it if it is right")
        for name, tool in offer.tools.items()
        if pins.get(name) != tool.definition.fingerprint
    )


def _why(name: str, pins: Mapping[str, str]) -> str:
    return "its definition is not the one that was accepted" if name in pins else "it was not accepted yet"
