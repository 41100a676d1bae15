"""Verify a bundle: replay and judge each of its runs again, offline, by the scenarios of this toolreel."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from toolreel.evals._replay.replay import Replayed, rescored
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._store.results import Results
from toolreel.evals._summary.summary_files import summary_of
from toolreel.evals._transfer.bundle import unpacked_bundle
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._summary.summary import Summary


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of judging a bundle again."""

    bundle: str
    """The name of its file."""
    digest: str
    """Of its manifest."""
    plan: EvalPlan = field(repr=False)
    summary: Summary = field(repr=False)
    created: str
    agreeing: int
    """Runs that were replayed, and are judged as the journal says."""
    judged_otherwise: tuple[Replayed, ...] = ()
    """Runs that were replayed, and have another verdict now."""
    not_replayed: tuple[Replayed, ...] = ()
    """Runs that have no recording, or would take another course now; ``drift`` says why."""

    @property
    def runs(self) -> int:
        """All runs."""
        return self.agreeing + len(self.judged_otherwise) + len(self.not_replayed)

    @property
    def verified(self) -> bool:
        """Whether every run was judged again, with the same verdict."""
        return not self.judged_otherwise and not self.not_replayed


def verify_bundle(bundle: Path | str) -> Verification:
    """Replay and judge a bundle again.

    :raises ResultsError: if it is no bundle, was changed, or was made with scenarios that are not here
    """
    bundle = Path(bundle)
    with _opened(bundle) as (digest, results):
        plan = plan_of_header(results.header)
        agreeing, otherwise, missing = 0, list[Replayed](), list[Replayed]()
        for again in rescored(results, plan):
            if again.now is None or again.drift:
                missing.append(again)
            elif again.now.verdict != again.record.verdict:
                otherwise.append(again)
            else:
                agreeing += 1
        return Verification(
            bundle.name,
            digest,
            plan,
            summary_of(results, plan),
            results.header.created,
            agreeing,
            tuple(otherwise),
            tuple(missing),
        )


@contextmanager
def _opened(bundle: Path) -> Generator[tuple[str, Results]]:
    with TemporaryDirectory(prefix="toolreel-bundle-") as name:
        digest = unpacked_bundle(bundle, Path(name))
        yield digest, Results.open(name)
