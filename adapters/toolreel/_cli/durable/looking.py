"""``toolreel runs list``, ``show``, ``wait`` and ``export``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from toolreel._cli.durable.options import database_option, opened_runs
from toolreel._cli.output.console import complain, err, labelled, out, show_columns
from toolreel._cli.output.errors import EPILOG, FAILED, json_option, reporting, say
from toolreel._cli.output.whole_run import as_json, show_run
from toolreel._internal.errors import DurableError

if TYPE_CHECKING:
    from toolreel.durable import DurableRun, RunSummary
    from toolreel_core._jsontext.canonical import Json

STATUSES: Final = ("queued", "running", "waiting", "sleeping", "ended", "failed", "refused")
run_argument = click.argument("run_id", metavar="RUN")


@click.command("list", epilog=EPILOG, short_help="List the runs, the newest first.")
@click.option("--status", type=click.Choice(STATUSES), help="Only runs with this status.")
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Maximum number of runs."
)
@click.option("--before", metavar="RUN", help="Only runs older than this one: the next page.")
@database_option
@json_option
@reporting
def list_command(
    status: str | None, limit: int, before: str | None, database: str | None, as_machine: bool
) -> int:
    """List the runs, the newest first, with what each waits for.

    \b
    toolreel runs list --status waiting
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    with opened_runs(database) as runs:
        found, counts = runs.list(status=status, limit=limit, before=before), runs.counts()
    if as_machine:
        rows: list[Json] = [summary_tree(each) for each in found]
        return say({"runs": rows, "counts": dict(counts)})
    if not found:
        labelled(out, "runs", "none; queue one with toolreel submit")
        return 0
    rows_of = [
        (each.run_id, each.status, each.model, each.outcome, f"{each.created:%Y-%m-%d %H:%M}", _short(each))
        for each in found
    ]
    show_columns(out, ("run", "status", "model", "outcome", "submitted", ""), rows_of)
    labelled(out, "all", ", ".join(f"{count} {name}" for name, count in sorted(counts.items())), "dim")
    return 0


@click.command("show", epilog=EPILOG, short_help="Show what a run did, and what it waits for.")
@run_argument
@database_option
@json_option
@reporting
def show_command(run_id: str, database: str | None, as_machine: bool) -> int:
    """Show what a run did so far, turn by turn, its outcome, and what it waits for.

    \b
    toolreel runs show order-7
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    with opened_runs(database) as runs:
        return shown(runs.get(run_id), as_machine=as_machine)


@click.command("wait", epilog=EPILOG, short_help="Wait until a run has ended or waits for you.")
@run_argument
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Give up after so long.")
@database_option
@json_option
@reporting
def wait_command(run_id: str, timeout: float | None, database: str | None, as_machine: bool) -> int:
    """Wait until a run has ended, or waits for somebody, and show it. A worker has to perform it.

    \b
    toolreel runs wait order-7 --timeout 60
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    with opened_runs(database) as runs:
        if (status := runs.summary(run_id).status) == "queued":
            labelled(err, "waiting", f"{run_id} is {status}: a worker performs it (toolreel serve)", "dim")
        try:
            done = runs.wait(run_id, timeout)
        except TimeoutError as error:
            complain(str(error), hint="is a worker running? start one with toolreel serve")
            return FAILED
        return shown(done, as_machine=as_machine)


@click.command("export", epilog=EPILOG, short_help="Write a run as a journal, to replay or fork.")
@run_argument
@click.argument("file", type=click.Path(path_type=Path))
@database_option
@reporting
def export_command(run_id: str, file: Path, database: str | None) -> int:
    """Write a run to FILE as a journal, which every command for recorded runs reads.

    \b
    toolreel runs export order-7 order-7.journal.jsonl
    toolreel replay order-7.journal.jsonl
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    with opened_runs(database) as runs:
        text = runs.get(run_id).recorded.text
    try:
        with file.open("x", encoding="utf-8", newline="\n") as written:
            written.write(text)
    except FileExistsError:
        raise DurableError(f"{file} exists; write to another file") from None
    except OSError as error:
        raise DurableError(f"{file}: it cannot be written: {error.strerror}") from None
    labelled(out, "saved", str(file))
    return 0


def shown(done: DurableRun, *, as_machine: bool) -> int:
    """Print a run; the exit code says whether it failed."""
    summary, run = done.summary, done.run
    if as_machine:
        say(as_json(run, {"durable": summary_tree(summary), "digest": done.digest}))
    else:
        labelled(out, "run", f"{summary.run_id}: {summary.status}", "bold")
        show_run(run)
        for call in summary.waits_for:
            labelled(out, "waits", f"{call.name}({call.arguments}): {call.why}", "yellow")
        if summary.waits_for:
            labelled(out, "", f"next: toolreel runs approve {summary.run_id} (or deny)", "dim")
        if summary.problem:
            labelled(out, "problem", summary.problem, "red")
    over = summary.status in {"failed", "refused"} or (summary.status == "ended" and not run.completed)
    return FAILED if over else 0


def summary_tree(summary: RunSummary) -> dict[str, Json]:
    """A line of the list as JSON."""
    times = {"created": summary.created.isoformat(), "updated": summary.updated.isoformat()}
    waits: list[Json] = [dict(call.tree()) for call in summary.waits_for]
    return {**asdict(summary), "waits_for": waits, **times}


def _short(summary: RunSummary) -> str:
    calls = ", ".join(f"{call.name}: {call.why}" for call in summary.waits_for)
    return calls or summary.problem.partition(";")[0]
