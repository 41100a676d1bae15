"""The result of a fork: printed as text or JSON, and its exit code."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from toolreel._cli.output.console import complain, labelled, out
from toolreel._cli.output.errors import DRIFT, USAGE, say
from toolreel._cli.output.render import as_json, show_outcome, show_plan, show_turns
from toolreel._cli.runs.diff import show_changes
from toolreel._driver.run import Run, outcome_of
from toolreel._errors import AdapterError
from toolreel._replay.carry_over import Stop
from toolreel._replay.explain.advice import told
from toolreel._replay.explain.comparison import plan_changes
from toolreel._replay.fork import Beginning
from toolreel.cassette._request_diff import Change
from toolreel_core._jsontext.canonical import Json
from toolreel_core._protocol.outcome import Completed

_FAILED: Final = 1


@dataclass(frozen=True, slots=True)
class ForkResult:
    """A fork that has run, from a recording or against a live server."""

    begun: Beginning
    run: Run
    stop: Stop | None = None
    saved: tuple[Path, ...] = ()
    refused: AdapterError | None = None
    """Why the fork could not be saved."""


def show_fork(gone: ForkResult, *, as_machine: bool) -> None:
    """Print what the fork keeps and changes, then its run."""
    begun, run, stop = gone.begun, gone.run, gone.stop
    changed = plan_changes(begun.source.plan, begun.plan)
    if as_machine:
        say(as_json(run, {"fork": _tree(gone, changed), "saved": [str(path) for path in gone.saved]}))
        return
    labelled(out, "forked", f"{begun.source.source} at {begun.kept} of {len(begun.source.records)} events")
    show_changes("changed", changed)
    show_plan(out, run)
    show_turns(out, run)
    if outcome_of(run):
        show_outcome(out, run)
    if stop:
        labelled(out, "stopped", f"at event {stop.n}: {stop.why}", "bold red")
    for path in gone.saved:
        labelled(out, "saved", str(path))
    if gone.saved:
        labelled(
            out,
            "",
            f"next: toolreel diff {shlex.quote(begun.source.source)} {shlex.quote(str(gone.saved[-1]))}",
            "dim",
        )


def _tree(gone: ForkResult, changed: Sequence[Change]) -> Json:
    begun = gone.begun
    return {
        "source": begun.source.source,
        "kept": begun.kept,
        "changed": [asdict(change) for change in changed],
        "stop": asdict(gone.stop) if gone.stop else None,
    }


def fork_exit_code(gone: ForkResult, base_url: str, api_key_env: str | None) -> int:
    """The exit code; what went wrong is printed to stderr."""
    outcome = outcome_of(gone.run)
    if gone.refused:
        complain(f"the fork was not saved: {gone.refused}")
        return USAGE
    if outcome is None:
        complain(
            "the fork stopped before its end",
            hint="continue with --base-url or --from where the recording has no answer",
        )
        return DRIFT
    if isinstance(outcome, Completed):
        return 0
    words, hint = told(outcome, base_url=base_url, api_key_env=api_key_env)
    complain(words, hint=hint)
    return _FAILED
