"""Cells and samples: what is evaluated, by name, before anything is run."""

from __future__ import annotations

from dataclasses import dataclass

from toolreel_core._jsontext.digest import chain

__all__ = ["Cell", "Sample"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of the axes; its trials differ by chance alone."""

    model: str
    profile: str
    """The sampling profile really used: what ``auto`` chose, if it was to choose."""
    strategy: str
    fallback: str
    """The fallback profile: ``best_effort``, ``fallback_off`` or ``fallback_on``."""
    language: str
    """The language policy: ``off``, or a language tag."""
    scenario: str

    @property
    def task(self) -> tuple[str, str, str, str, str]:
        """The cell without its scenario: what one row of a table is about."""
        return (self.model, self.profile, self.strategy, self.fallback, self.language)


@dataclass(frozen=True, slots=True)
class Sample:
    """One run that a plan asks for."""

    cell: Cell
    trial: int
    """From 1 on."""
    version: int
    """Of its scenario."""
    configuration: str
    """The digest of its effective configuration, in which the sampling is."""

    @property
    def key(self) -> str:
        """SHA-256 of all that decides about the run; where it is sent and how plays no part."""
        cell = self.cell
        return chain(
            "sample",
            *(cell.model, cell.profile, cell.strategy, cell.fallback, cell.language, cell.scenario),
            *(str(self.version), self.configuration, str(self.trial)),
        )

    @property
    def seed(self) -> str:
        """What identifiers in its world are made of: the same under all strategies and profiles.

        So the runs of one trial are shown the same conversation, and can be compared in pairs.
        """
        cell = self.cell
        return chain("world", cell.scenario, str(self.version), cell.model, cell.language, str(self.trial))
