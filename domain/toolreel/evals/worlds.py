"""Worlds: what the tools of a scenario act upon, as frozen values.

A world answers a call with its successor and the tool's output, so that whoever has the calls of a run
has its world: a replay, a new oracle and a counterfactual need no network and nothing that was kept.
"""

from __future__ import annotations

from typing import Protocol

from toolreel.jsontext import Json, JsonText, Tree

__all__ = ["World"]


class World(Protocol):
    """The state behind the tools of one run."""

    def called(self, name: str, arguments: Tree) -> tuple[World, JsonText]:
        """The world after a call, and what the tool returned: an envelope, or any other JSON value.

        :param name: the tool's inner name
        """
        ...

    def told(self) -> Json:
        """What there is in it, for oracles and records."""
        ...
