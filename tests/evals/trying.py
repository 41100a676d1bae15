"""Small evaluations in this process, for tests of what is kept of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any, Final

from toolreel._driver import InstantClock
from toolreel.evals import (
    EvaluationOutcome,
    ExistingRuns,
    Results,
    connect,
    evaluate,
    limits,
    new_header,
    planned,
)
from toolreel_core._jsontext import Json, merged
from toolreel_core.evals import EvalPlan, Record, Sample, record_tree

__all__ = ["KEY", "LOCAL", "SCRIPTED", "Seen", "evaluated", "plan_of", "records", "timeless"]

KEY: Final = "sk-or-v1-" + "5fd1a80c" * 8
"""An API key that is none."""
LOCAL: Final = ("first/model", "second/model")
SCRIPTED: Final = ("scripted:good", "scripted:bad")


def plan_of(url: str = "", **tables: Json) -> EvalPlan:
    """A plan of two models, one strategy, three scenarios and two trials.

    :param url: where the models are; without one, they are scripts
    :param tables: go over it, as a plan file would have them
    """
    usual: Mapping[str, Json] = {
        "eval": {
            "add_models": [*(LOCAL if url else SCRIPTED)],
            "scenarios": ["happy_path", "type_error_recovery", "no_tool_fits"],
            "trials": 2,
            "seeds": True,
        },
        "endpoint": {
            "base_url": url or "http://127.0.0.1:9",
            "read_timeout": 30,
            "api_key_env": "EVAL_KEY" if url else "",
        },
    }
    return planned(None, merged(usual, tables), environ={}, flags={})


@dataclass(slots=True)
class Seen:
    """Somebody who watches, and asks that it be stopped after this many runs."""

    stop: Event = field(default_factory=Event)
    after: int | None = None
    before: ExistingRuns | None = None
    ran: list[Record] = field(default_factory=list)

    def found(self, found: ExistingRuns, /) -> None:
        """Keep what there was."""
        self.before = found

    def began(self, sample: Sample, /) -> None:
        """Nothing to keep yet."""

    def ended(self, record: Record, /) -> None:
        """Keep the run."""
        self.ran.append(record)
        if len(self.ran) == self.after:
            self.stop.set()


def evaluated(
    plan: EvalPlan,
    out: Path,
    seen: Seen | None = None,
    *,
    pauses: list[float] | None = None,
    cassettes: bool = True,
    accept_changes: bool = False,
    accept_endpoint_change: bool = False,
) -> EvaluationOutcome:
    """Make the runs of a plan that are missing; nobody waits for a provider to recover.

    :param pauses: gets what would have been waited for
    """
    watching, hours = seen or Seen(), count(0, 3_600)
    connection = replace(
        connect(plan, {"EVAL_KEY": KEY}),
        clock=InstantClock(),
        pause=(pauses if pauses is not None else []).append,
        limit_of=limits(plan.jobs, lambda: float(next(hours))),
    )
    with closing(connection):
        return evaluate(
            plan,
            out,
            connection,
            new_header(plan, datetime(2026, 11, 22, 8, 30, tzinfo=UTC)),
            watching,
            watching.stop,
            cassettes=cassettes,
            accept_changes=accept_changes,
            accept_endpoint_change=accept_endpoint_change,
        )


def records(out: Path) -> dict[str, Any]:
    """All records that count, by their keys, without what a clock has measured."""
    return {record.key: timeless(record) for record in Results.open(out).records()}


def timeless(record: Record) -> Any:  # noqa: ANN401 - JSON that tests look into
    """A record's tree, without what a clock has measured."""
    tree = json.loads(json.dumps(record_tree(record)))
    for attempt in tree["attempts"]:
        attempt["ms"] = 0
        for asked in attempt["asked"]:
            asked["ms"] = 0
    return tree
