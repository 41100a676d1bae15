"""``toolreel eval replay``: replay recorded runs, and judge them again."""

from __future__ import annotations

from pathlib import Path

import click

from toolreel._cli.console import counted, err, out, printable
from toolreel._cli.errors import DRIFT, json_option, reporting, say
from toolreel._internal.errors import ResultsError
from toolreel.evals._replay.replay import Replayed, replays
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._store.results import Results
from toolreel_core.evals._verdicts.verdict import Verdict

_REPLAY_EPILOG = (
    "Exit codes: 0 as recorded, 2 usage, 3 a run would go another way or be judged in another way now."
)


folder_argument = click.argument(
    "folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path)
)


@click.command("replay", epilog=_REPLAY_EPILOG, short_help="Replay recorded runs, and judge them again.")
@folder_argument
@click.argument("keys", nargs=-1, metavar="[KEY]...")
@click.option("--check", is_flag=True, help="List only runs that differ from the recording.")
@json_option
@reporting
def replay_command(folder: Path, keys: tuple[str, ...], check: bool, as_machine: bool) -> int:
    """Replay the runs in DIR from their cassettes, without a network, and judge them with the present checks.

    KEY is the beginning of a run's key, as summaries and reports show it; without one, all runs are replayed.
    """
    results = Results.open(folder)
    found = [*replays(results, plan_of_header(results.header), keys)]
    if not found:
        raise ResultsError(f"{folder}: no run has a key that begins with {' or '.join(keys)}")
    drifted = [again for again in found if again.drift]
    if as_machine:
        say({"replayed": len(found), "drifted": [again.record.key for again in drifted]})
    else:
        for again in drifted if check else found:
            _show_replayed(again)
        rest = f"{len(drifted)} of them not as recorded" if drifted else "all of them as recorded"
        out.print(f"{counted(len(found), 'run')} replayed, {rest}")
    return DRIFT if drifted else 0


def _show_replayed(again: Replayed) -> None:
    verdict = (again.now or again.record).verdict
    why = f"  {verdict.category}: {'; '.join(verdict.reasons)}" if verdict.category else ""
    out.print(printable(f"{run_label(again)}  {verdict.result}{why}"))
    if again.drift:
        err.print(printable(f"  {again.drift}"), style="yellow")


def run_label(again: Replayed) -> str:
    """A run in a line: the beginning of its key, its cell and its trial."""
    record, cell = again.record, again.record.cell
    return f"{record.key[:12]}  {cell.model} {cell.strategy} {cell.scenario} trial {record.trial}"


def verdict_words(verdict: Verdict) -> str:
    """A verdict in words: the result, and the category of a failure."""
    return " ".join(filter(None, (verdict.result, verdict.category)))
