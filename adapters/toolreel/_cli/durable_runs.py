"""``toolreel durable``: submit durable runs, look at them, and speak with them from any process."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from toolreel._cli.console import complain, counted, err, labelled, out, show_columns
from toolreel._cli.errors import EPILOG, FAILED, json_option, reporting, say
from toolreel._cli.run_options import (
    PlanChoice,
    database_option,
    opened_runs,
    plan_options,
    prompt_text,
    queue_option,
)
from toolreel._cli.server_options import FallbackChoice, fallback_option
from toolreel._cli.tool_options import SourceChoice, source_options
from toolreel._cli.whole_run import as_json, show_run
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


_ref_option = click.option(
    "--ref",
    type=int,
    metavar="N",
    help="Which call, if several wait: its ref in `toolreel runs show --json`.",
)

_ENDS_LATER: Final = "it ends as soon as a worker takes it up (toolreel serve)"
_ENDS: Final = {
    "running": "it ends with the request or tool that it is in",
    "ended": "it had ended, and stays as it is",
    "failed": "it ends if it is resumed",
    "refused": "it ends if it is resumed",
}


@click.command("approve", epilog=EPILOG, short_help="Approve the call that a run waits for.")
@run_argument
@_ref_option
@database_option
@reporting
def approve_command(run_id: str, ref: int | None, database: str | None) -> int:
    """Approve the call that a run waits for; it runs with exactly the arguments that are shown.

    Of a call that is uncertain, because its worker died while it ran, it approves that it is repeated.

    \b
    toolreel runs approve order-7
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    with opened_runs(database) as runs:
        call = runs.approve(run_id, ref=ref)
    labelled(out, "approved", f"{call.name}({call.arguments})", "green")
    return 0


@click.command("deny", epilog=EPILOG, short_help="Deny the call that a run waits for.")
@run_argument
@click.option("--reason", default="", metavar="TEXT", help="Why; the model reads it.")
@_ref_option
@database_option
@reporting
def deny_command(run_id: str, reason: str, ref: int | None, database: str | None) -> int:
    """Deny the call that a run waits for; the model is told, and the run goes on.

    \b
    toolreel runs deny order-7 --reason "Too expensive."
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    with opened_runs(database) as runs:
        call = runs.deny(run_id, reason, ref=ref)
    labelled(out, "denied", f"{call.name}({call.arguments})", "yellow")
    return 0


@click.command("cancel", epilog=EPILOG, short_help="Cancel runs.")
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True)
@click.option("--reason", default="", metavar="TEXT", help="Why; the outcome says it.")
@database_option
@reporting
def cancel_command(run_ids: tuple[str, ...], reason: str, database: str | None) -> int:
    """Cancel runs: each ends as soon as the request or tool has ended that it is in.

    \b
    toolreel runs cancel order-7 order-8
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    with opened_runs(database) as runs:
        for run_id in run_ids:
            status = runs.summary(run_id).status
            runs.cancel(run_id, reason)
            labelled(out, "cancelled", f"{run_id}: {_ENDS.get(status, _ENDS_LATER)}")
    return 0


@click.command("speak", epilog=EPILOG, short_help="Say something to a run.")
@run_argument
@click.argument("text")
@database_option
@reporting
def speak_command(run_id: str, text: str, database: str | None) -> int:
    """Say TEXT to a run: its next request sends it; after its end, it begins the next exchange.

    \b
    toolreel runs speak order-7 "And a nut, please."
    toolreel runs wait order-7
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    with opened_runs(database) as runs:
        runs.speak(run_id, text)
    labelled(out, "said", run_id)
    return 0


@click.command("resume", epilog=EPILOG, short_help="Queue a failed or refused run again.")
@run_argument
@database_option
@reporting
def resume_command(run_id: str, database: str | None) -> int:
    """Queue a run again that failed or was refused, once what stopped it is mended.

    Nothing that is stored is repeated. A run that was killed with its worker needs no resuming: it goes on
    when the worker starts again, or another one adopts it.

    \b
    toolreel runs resume order-7
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    with opened_runs(database) as runs:
        runs.resume(run_id)
    labelled(out, "queued", run_id)
    return 0


@click.command("adopt", epilog=EPILOG, short_help="Take over the runs of a worker that is gone.")
@click.argument("slots", metavar="SLOT...", nargs=-1, required=True)
@database_option
@queue_option
@reporting
def adopt_command(slots: tuple[str, ...], database: str | None, queue: str) -> int:
    """Queue the runs again that workers left behind which do not come back.

    SLOT is the name of such a worker, as in its --slot. A worker that is alive keeps its runs: then this is
    an error, and nothing changes. One that starts again with its slot takes up its runs without this.

    \b
    toolreel runs adopt worker-3
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    with opened_runs(database) as runs:
        for slot in slots:
            found = runs.adopt(slot, queue=queue)
            labelled(out, "adopted", f"{slot}: {', '.join(found) if found else 'it left no runs'}")
    return 0


@click.command("prune", epilog=EPILOG, short_help="Delete runs that ended long ago.")
@click.option(
    "--older-than",
    "days",
    type=click.FloatRange(min=0),
    required=True,
    metavar="DAYS",
    help="Only runs that ended at least this many days ago.",
)
@database_option
@reporting
def prune_command(days: float, database: str | None) -> int:
    """Delete runs that ended long ago, with all that is stored of them. Runs that wait or failed stay.

    \b
    toolreel runs prune --older-than 30
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    with opened_runs(database) as runs:
        labelled(out, "deleted", counted(runs.prune(days * 86_400), "run"))
    return 0


@click.command("health", epilog=EPILOG, short_help="Say whether database and queue are well.")
@click.option(
    "--oldest",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Fail if a run is queued for longer than this: no worker takes it, or there are too few.",
)
@database_option
@json_option
@reporting
def health_command(oldest: float | None, database: str | None, as_machine: bool) -> int:
    """Say how many runs have which status, and how long the oldest one is queued; for probes and metrics.

    Exits with 2 if the database cannot be reached, and with 1 if --oldest is exceeded.

    \b
    toolreel runs health --oldest 60 --json
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    with opened_runs(database) as runs:
        counts, queued = runs.counts(), runs.oldest_queued_seconds()
    if as_machine:
        say({"counts": dict(counts), "oldest_queued_seconds": queued})
    else:
        labelled(
            out, "runs", ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "none"
        )
        if queued is not None:
            labelled(out, "oldest", f"queued for {queued:.0f} s")
    return FAILED if oldest is not None and queued is not None and queued > oldest else 0


@click.command("submit", epilog=EPILOG, short_help="Queue a durable run for a worker.")
@click.argument("prompt")
@click.option("--model", required=True, help="Model name, as the worker's server lists it.")
@source_options
@plan_options
@fallback_option("fallbacks")
@database_option
@queue_option
@click.option(
    "--run-id",
    metavar="ID",
    help="Id of the run, such as that of your job: submitting it twice is submitting it once. By default, a "
    "random one.",
)
@json_option
@reporting
def submit_command(  # noqa: PLR0913, PLR0917 - click hands over every option by name
    prompt: str,
    model: str,
    sources: SourceChoice,
    wanted: PlanChoice,
    fallbacks: tuple[FallbackChoice, ...],
    database: str | None,
    queue: str,
    run_id: str | None,
    as_machine: bool,
) -> int:
    """Queue a durable run, and print its id.

    PROMPT is the user message; - reads it from stdin. Name the same tools and fallbacks as the worker: the
    model is shown the tools as they are here, and a worker without them refuses the run.

    \b
    toolreel submit "Order a pin." --model your-model \\
        --tools my_tools:TOOLS --run-id order-7
    toolreel runs show order-7
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    with redirect_stdout(sys.stderr), sources.open() as available:
        plan = wanted.plan(model, prompt_text(prompt), available, fallbacks)
    with opened_runs(database) as runs:
        named = runs.submit(plan, run_id, queue=queue)
    if as_machine:
        return say({"run_id": named, "plan": plan.digest, "queue": queue})
    labelled(out, "submitted", named, "bold")
    labelled(out, "", f"next: toolreel runs show {named} (toolreel serve performs it)", "dim")
    return 0
