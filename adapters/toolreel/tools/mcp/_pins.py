"""Which definitions of MCP tools were accepted: their fingerprints, kept beside the configuration.

``mcp.json`` has its pins in ``mcp.pins.json``, if anybody accepted anything there. From then on a tool whose
definition is another one, or that is new, is left out until it is accepted as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from toolreel._errors import McpConfigError
from toolreel.tools.mcp._definitions import LeftOut, Offer
from toolreel_core._jsontext.canonical import read
from toolreel_core._tools.surface import ToolSurface

__all__ = ["pins_beside", "pins_of", "read_pins", "unaccepted", "write_pins"]


def pins_of(surface: ToolSurface) -> dict[str, str]:
    """The fingerprints of all tools of a surface, such as that of a plan that was stored."""
    return {tool.name: tool.fingerprint for tool in surface.definitions}


def pins_beside(config: Path) -> Path:
    """Where the pins of a configuration stand.

    >>> pins_beside(Path("conf/mcp.json")).as_posix()
    'conf/mcp.pins.json'
    """
    return config.with_suffix(".pins.json")


def read_pins(path: Path) -> dict[str, str] | None:
    """The pins in a file; ``None`` if there is none, so that nothing was ever accepted or refused.

    :raises McpConfigError: if it cannot be read
    """
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise McpConfigError(f"{path}: cannot be read: {error}") from None
    pins = read(text).value_or(None)
    if not isinstance(pins, Mapping) or not all(isinstance(pin, str) for pin in pins.values()):
        raise McpConfigError(f"{path}: expected an object of fingerprints by name; accept the tools anew")
    return {name: str(pin) for name, pin in pins.items()}


def write_pins(path: Path, pins: Mapping[str, str]) -> None:
    """Keep pins, a line each, so that a change is easy to see.

    :raises McpConfigError: if they cannot be written
    """
    try:
        path.write_text(json.dumps(dict(sorted(pins.items())), indent=2) + "\n", "utf-8")
    except OSError as error:
        raise McpConfigError(f"{path}: cannot be written: {error.strerror}") from None


def unaccepted(offer: Offer, pins: Mapping[str, str] | None) -> tuple[LeftOut, ...]:
    """The tools of a server that are not what was accepted."""
    if pins is None:
        return ()
    return tuple(
        LeftOut(name, _why(name, pins), "look at it, and accept it if it is right")
        for name, tool in offer.tools.items()
        if pins.get(name) != tool.definition.fingerprint
    )


def _why(name: str, pins: Mapping[str, str]) -> str:
    return "its definition is not the one that was accepted" if name in pins else "it was not accepted yet"
