"""Verdicts: what a run says about the model that made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Result", "Verdict"]

Result: TypeAlias = Literal["pass", "pass_unexercised", "fail", "unsupported", "void"]
"""``pass_unexercised``: right, but the hard part was skipped; ``unsupported``: the model or its route does
without tools, shown as coverage and never a pass; ``void``: the provider or a budget failed, and not the
model."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement about one run."""

    result: Result
    category: str = ""
    """One category of :mod:`toolreel.evals.taxonomy`, such as ``loop.max_turns``; empty for a pass."""
    reasons: tuple[str, ...] = ()
    """In words for a person."""

    @property
    def valid(self) -> bool:
        """Whether it counts in a rate."""
        return self.result in {"pass", "pass_unexercised", "fail"}
