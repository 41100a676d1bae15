"""A leaderboard of bundles: which models and strategies are comparable, and how they did.

Only verified bundles have rows. Rates are over the scenarios that all of them have in the same version; what
else a bundle has, and which of its settings differ, is shown next to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from toolreel._internal.errors import ResultsError
from toolreel.evals._runner.adaptive import rule_of
from toolreel.evals._store.configuration_differences import configuration_differences
from toolreel.evals._summary.summary_statistics import Total, total_of
from toolreel.evals._transfer.verification import Verification
from toolreel_core._jsontext.canonical import JsonText, Tree, canonical
from toolreel_core.evals._summary.summary import CellSummary


@dataclass(frozen=True, slots=True)
class Row:
    """A model under a strategy, in one bundle."""

    model: str
    strategy: str
    variant: str
    """Its sampling profile, fallback profile and language, where they are not the usual ones."""
    bundle: str
    digest: str
    total: Total
    """Over the scenarios that all bundles have."""
    trials: int


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """The rows, and what one has to know about them."""

    scenarios: tuple[str, ...]
    """What is compared, with versions."""
    rows: tuple[Row, ...]
    """The highest rate first."""
    remarks: tuple[str, ...]
    """What isn't comparable."""
    refused: tuple[tuple[str, str], ...]
    """Bundles without rows, with the reason."""
    verified: tuple[Verification, ...]


def leaderboard_of(verifications: Sequence[Verification]) -> Leaderboard:
    """The leaderboard of bundles that were judged again.

    :raises ResultsError: if none is verified, or they have no scenario in common
    """
    verified = tuple(one for one in verifications if one.verified)
    if not verified:
        raise ResultsError("no bundle is verified; `toolreel eval verify` says what disagrees")
    versions = [_versions(one) for one in verified]
    common = {
        name: version
        for name, version in versions[0].items()
        if all(v.get(name) == version for v in versions)
    }
    if not common:
        raise ResultsError(
            "no scenario is in all bundles in the same version; name bundles of the same scenarios"
        )
    rows = [row for one in verified for row in _rows(one, common)]
    return Leaderboard(
        tuple(f"{name} (version {version})" for name, version in common.items()),
        tuple(sorted(rows, key=lambda row: (-(row.total.rate or 0.0), row.model, row.strategy, row.bundle))),
        tuple(_remarks(verified, versions, common)),
        tuple((one.bundle, _why(one)) for one in verifications if not one.verified),
        verified,
    )


def _versions(one: Verification) -> dict[str, int]:
    return {each.name: each.version for each in one.plan.scenarios}


def _rows(one: Verification, common: Mapping[str, int]) -> Iterator[Row]:
    groups: dict[tuple[str, ...], list[CellSummary]] = {}
    for cell in one.summary.cells:
        if cell.cell.scenario in common:
            groups.setdefault(cell.cell.task, []).append(cell)
    for cells in groups.values():
        about = cells[0].cell
        usual = (("profile", "default"), ("fallback", "best_effort"), ("language", "off"))
        variant = ", ".join(value for axis, default in usual if (value := getattr(about, axis)) != default)
        total = total_of(about.model, cells, one.plan.trials, rule_of(one.plan))
        yield Row(about.model, about.strategy, variant, one.bundle, one.digest, total, one.plan.trials)


def _remarks(
    verified: Sequence[Verification], versions: Sequence[Mapping[str, int]], common: Mapping[str, int]
) -> Iterator[str]:
    for one, own in zip(verified, versions, strict=True):
        if alone := [f"{name} (version {version})" for name, version in own.items() if name not in common]:
            yield f"{one.bundle} has further scenarios, which are in no rate here: {', '.join(alone)}"
        if incomplete := one.summary.incompleteness:
            yield f"{one.bundle}: {incomplete}"
    first = verified[0]
    for other in verified[1:]:
        if changes := configuration_differences(_settings(first), _settings(other)):
            yield f"settings of {other.bundle} that differ from those of {first.bundle}: {'; '.join(changes)}"


_OF_NO_MATTER: Final = frozenset(
    {"add_models", "models", "strategies", "scenarios", "jobs", "verbosity", "preset", "accept_void"}
)


def _settings(one: Verification) -> JsonText:
    """The options that may change the result of a run, whatever is compared."""
    tree = one.plan.options.tree()
    chosen = tree["eval"] if isinstance(tree["eval"], Mapping) else {}
    settings: Tree = {
        "eval": {key: value for key, value in chosen.items() if key not in _OF_NO_MATTER},
        **{key: tree[key] for key in ("loop", "sampling", "request_overrides", "strategy")},
    }
    return canonical(settings)


def _why(one: Verification) -> str:
    parts = (
        (len(one.judged_otherwise), "are judged in another way now"),
        (len(one.not_replayed), "could not be replayed"),
    )
    return "; ".join(f"{count} of {one.runs} runs {what}" for count, what in parts if count)
