"""The plans that an evaluation has had: none is forgotten, so that nobody can move a goalpost unseen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolreel_core._jsontext import Json, Tree, canonical, digest


@dataclass(frozen=True, slots=True)
class EarlierPlan:
    """A plan that gave way to another."""

    plan: Tree
    since: str
    """When it was first gone by, as ``2026-11-22T08:30:00Z``."""
    records: int
    """Lines that the journal had when it gave way, those of the plans before it too."""

    def tree(self) -> Tree:
        """As it is in the header."""
        return {
            "since": self.since,
            "digest": plan_digest(self.plan),
            "records": self.records,
            "plan": self.plan,
        }


def plan_digest(plan: Tree) -> str:
    """SHA-256 of a stored plan."""
    return digest(canonical(plan))


def earlier_plans(trees: Json) -> tuple[EarlierPlan, ...]:
    """The plans in a header.

    :raises TypeError: if these are none
    """
    if not isinstance(trees, list):
        raise TypeError("earlier_plans")
    return tuple(map(_earlier_plan, trees))


def _earlier_plan(tree: Any) -> EarlierPlan:  # noqa: ANN401 - JSON that is being checked
    if not isinstance(tree, Mapping) or not isinstance(tree.get("plan"), Mapping):
        raise TypeError("earlier_plans")
    return EarlierPlan(tree["plan"], str(tree["since"]), int(tree["records"]))
