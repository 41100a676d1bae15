"""The demo's tools, for trying things out: ``--tools toolreel.demo:TOOLS``."""

from toolreel.demo._workspace import TOOLS, Workspace, workspace

__all__ = ["TOOLS", "Workspace", "workspace"]
