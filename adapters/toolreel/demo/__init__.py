"""Example tools of the demo, to try toolreel: ``--tools toolreel.demo:TOOLS``."""

from toolreel.demo._workspace import TOOLS, Workspace, workspace

__all__ = ["TOOLS", "Workspace", "workspace"]
