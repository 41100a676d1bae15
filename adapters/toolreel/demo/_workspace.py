"""A small workspace with two tools, as in the recorded sessions, and the session of the demo."""

from __future__ import annotations

import copy
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from toolreel._internal import CassetteError
from toolreel.tools import ToolError, ToolLike

if TYPE_CHECKING:
    from toolreel._replay import Driver

START: dict[str, dict[str, object]] = {
    "release": {"name": "aurora", "status": "draft", "build": 41},
    "checklist": {"tests": "passed", "changelog": "missing"},
}


class Workspace:
    """Two sections of values, and a version that counts changes."""

    def __init__(self) -> None:
        self.sections = copy.deepcopy(START)
        self.version = 7

    def state_get(self, path: str) -> dict[str, object]:
        """Read one value of the workspace.

        Args:
            path: JSON Pointer of the value, for example /release/status.
        """
        section, key = self._section_and_key(path)
        return {"path": path, "value": self.sections[section][key], "version": self.version}

    def state_patch(self, path: str, value: str, version: int) -> dict[str, object]:
        """Change one value of the workspace.

        Args:
            path: JSON Pointer of the value to change, for example /release/status.
            value: The new value.
            version: The workspace version you last saw;
                the change is refused when the workspace has moved on.
        """
        section, key = self._section_and_key(path)
        if version != self.version:
            raise ToolError(
                f"version: expected {self.version}, got {version}. Nothing was changed. "
                f"Call state_patch again with version {self.version}."
            )
        self.sections[section][key] = value
        self.version += 1
        return {"changed": path, section: self.sections[section], "version": self.version}

    def _section_and_key(self, path: str) -> tuple[str, str]:
        paths = {
            f"/{section}/{key}": (section, key) for section in self.sections for key in self.sections[section]
        }
        if path not in paths:
            raise ToolError(
                f'path: expected one of {", ".join(paths)}, got "{path}". Call again with one of these.'
            )
        return paths[path]


def workspace() -> list[ToolLike]:
    """The tools of a new workspace."""
    state = Workspace()
    return [state.state_get, state.state_patch]


TOOLS = workspace()
"""Tools of a workspace that lives as long as the process."""


def demo_cassette() -> Path:
    """The recorded session: package data of the wheel, or under ``cassettes/`` in a checkout.

    :raises CassetteError: if it is missing
    """
    name, here = "local--qwen2.5-coder-1.5b.yaml", Path(__file__).parent
    for path in (here / "session" / name, here.parents[2] / "cassettes" / "workspace" / name):
        if path.exists():
            return path
    raise CassetteError("the demo's session is missing from this installation; install toolreel again")


def demo_drivers() -> list[Driver]:
    """The drivers whose packages are installed."""
    from toolreel._replay import DRIVERS  # the tools need none of it

    return [driver for driver in DRIVERS if find_spec(driver) or driver == "sync"]
