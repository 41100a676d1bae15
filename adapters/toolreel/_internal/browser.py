"""Show an address in the user's browser, where there is a display to show it on."""

from __future__ import annotations

import os
import sys
from typing import Final

_DISPLAYS: Final = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
"""Variables of which one is set where a browser can be opened on Linux and its relatives."""


def show(address: str) -> bool:
    """Open an address in the browser; returns whether there was one to open it in.

    Without a display nothing is tried: over ssh, in a container and in CI, a browser for terminals would take
    the terminal, or the desktop's opener would complain in it.
    """
    if sys.platform not in {"darwin", "win32"} and not any(map(os.environ.get, _DISPLAYS)):
        return False
    import webbrowser  # what most commands do without

    return webbrowser.open(address)
