"""``toolreel eval rescore``: judge recorded runs again, and store the verdicts."""

from __future__ import annotations

from pathlib import Path

import click

from toolreel._cli.console import counted, err, out, printable
from toolreel._cli.errors import DRIFT, json_option, reporting, say
from toolreel._cli.evals.recorded.replay import folder_argument, run_label, verdict_words
from toolreel._internal.errors import ResultsError
from toolreel.evals._replay.replay import (
    BEFORE,
    Replayed,
    rescore_in_place,
    rescored,
    write_rescored,
)
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._store.results import Results

_RESCORE_EPILOG = "Exit codes: 0 rescored, 2 usage, 3 nothing written: a run cannot be judged again."


@click.command("rescore", epilog=_RESCORE_EPILOG, short_help="Judge recorded runs again, without a network.")
@folder_argument
@click.option(
    "--out",
    "target",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR2",
    help="New directory for the evaluation with its new verdicts.",
)
@click.option("--in-place", is_flag=True, help=f"Write them into DIR; the old journal becomes {BEFORE}.")
@json_option
@reporting
def rescore_command(folder: Path, target: Path | None, in_place: bool, as_machine: bool) -> int:
    """Replay every run of DIR from its cassette, and judge it with the present checks.

    Measurements stay as they are. Nothing is written if a run would take another course now, or was not
    recorded, because a new verdict would not be about what was measured.
    """
    if (target is None) != in_place:
        raise ResultsError("say where the verdicts go: --out DIR2 or --in-place")
    results = Results.open(folder)
    runs = [*rescored(results, plan_of_header(results.header))]
    drifted = [again for again in runs if again.drift]
    changed = [again for again in runs if again.now and again.now.verdict != again.record.verdict]
    if not drifted and target:
        write_rescored(results, runs, target)
    elif not drifted:
        rescore_in_place(results, runs)
    if as_machine:
        say(
            {
                "runs": len(runs),
                "changed": [_tree(again) for again in changed],
                "drifted": {again.record.key: again.drift for again in drifted},
                "written": "" if drifted else str(target or folder),
            }
        )
    else:
        _show_rescored(runs, changed, drifted)
    return DRIFT if drifted else 0


def _show_rescored(runs: list[Replayed], changed: list[Replayed], drifted: list[Replayed]) -> None:
    for again in drifted:
        err.print(printable(f"{run_label(again)}: {again.drift}"), style="yellow")
    if drifted:
        err.print(f"Nothing written: {len(drifted)} of {counted(len(runs), 'run')} cannot be judged again.")
        return
    for again in changed:
        before, after = (
            verdict_words(again.record.verdict),
            verdict_words((again.now or again.record).verdict),
        )
        out.print(printable(f"{run_label(again)}: {before} -> {after}"))
    out.print(f"{counted(len(runs), 'run')} judged again, {counted(len(changed), 'verdict')} changed")


def _tree(again: Replayed) -> dict[str, str]:
    return {
        "key": again.record.key,
        "before": verdict_words(again.record.verdict),
        "after": verdict_words((again.now or again.record).verdict),
    }
