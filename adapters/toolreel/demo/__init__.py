"""Example tools of the demo, to try toolreel: ``--tools toolreel.demo:TOOLS``."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.demo._workspace import START, TOOLS, Workspace, demo_cassette, demo_drivers, workspace
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)

# Public; the other names are for this project's own packages and tests.
__all__ = [
    "TOOLS",
    "Workspace",
    "workspace",
]
