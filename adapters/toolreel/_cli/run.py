"""``toolreel run`` and ``toolreel resume``: run a tool loop against a live server, and record it."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolreel._cli.console import complain, err, labelled, out
from toolreel._cli.errors import EPILOG, FAILED, USAGE, json_option, reporting, say
from toolreel._cli.options import NO_PRESETS, model_option, parse_settings
from toolreel._cli.run_options import (
    Approval,
    PlanChoice,
    approve_option,
    cassette_path,
    database_option,
    durable_option,
    keeping_of,
    live_session,
    mode_option,
    plan_options,
    prompt_text,
    resumed_path,
    run_id_option,
)
from toolreel._cli.server_options import ServerChoice, server_options
from toolreel._cli.tool_options import SourceChoice, Sources, source_options
from toolreel._cli.whole_run import EndedRun, as_json, exit_code, resume_hint, show_run, show_saved
from toolreel._driver import Later, outcome_of
from toolreel._journal import companion, read_journal
from toolreel._replay import retrace
from toolreel.testing import ReelFiles
from toolreel_core._jsontext import Json
from toolreel_core._plan import Plan
from toolreel_core._protocol import Completed

if TYPE_CHECKING:
    from toolreel.cassette import Mode
    from toolreel.durable import DurableRun


@click.command("run", epilog=EPILOG)
@click.argument("prompt")
@model_option()
@server_options()
@source_options
@plan_options()
@click.option(
    "--record",
    metavar="NAME",
    help="Record the run as NAME.yaml and NAME.journal.jsonl; `toolreel replay NAME` replays it.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing recording, even if the run fails.")
@mode_option
@durable_option
@run_id_option
@database_option
@approve_option
@click.option(
    "--stream",
    is_flag=True,
    help="Stream replies in which the model cannot call tools, and print them on a terminal as they arrive; "
    "--set stream=always streams every reply.",
)
@json_option
@reporting
def run_command(  # noqa: PLR0913, PLR0917 - click hands over every option by name
    prompt: str,
    model: str,
    server: ServerChoice,
    sources: SourceChoice,
    wanted: PlanChoice,
    record: str | None,
    overwrite: bool,
    mode: Mode | None,
    durable: bool,
    run_id: str | None,
    database: str | None,
    approve: Approval,
    stream: bool,
    as_machine: bool,
) -> int:
    """Run a tool loop against a live server, and print every turn.

    PROMPT is the user message; - reads it from stdin. Calls to tools are executed, and their results are
    sent back, until the model answers or a limit is reached.

    Example, with a local llama.cpp server and the tools of the demo:

    \b
    toolreel run "Which status has the release? Call state_get." \\
        --model qwen2.5-coder-1.5b --base-url http://127.0.0.1:8080 \\
        --preset qwen2_5_coder --tools toolreel.demo:TOOLS \\
        --record cassettes/status/local--qwen
    """
    if run_id is not None and (record or mode or overwrite):
        raise click.UsageError(
            "--run-id keeps the run in --database, so it takes no --record, --mode and --overwrite; toolreel "
            "durable export writes it to a file"
        )
    parse_settings(wanted.settings)  # what is wrong with the options is said before any tool server starts
    wanted.presets.preset(model)
    path = cassette_path(record)
    keeping = keeping_of(mode, path, overwrite=overwrite)
    text = prompt_text(prompt)

    def plan_with(available: Sources) -> Plan:
        streaming = {"stream": "final"} if stream else {}
        return wanted.plan(model, text, available, server.fallbacks, streaming)

    if isinstance(keeping, Path):
        journal = companion(keeping)
        recorded_tools = read_journal(journal).plan.tools.definitions if journal.exists() else ()
        plan = plan_with(sources.recorded(recorded_tools))
        return _replay_instead(plan, keeping, as_machine=as_machine)
    absent = Later() if run_id else None  # a durable run waits for `toolreel durable approve`
    with live_session(server, sources, approve, durable=durable, absent=absent) as (session, available):
        plan = plan_with(available)
        if run_id is None:
            live: EndedRun | DurableRun = session.run(plan, path, keeping)
        else:
            from toolreel._cli.durable_worker import run_durably

            live = run_durably(run_id, plan, database, session, available)
    if not isinstance(live, EndedRun):
        from toolreel._cli.durable_runs import shown

        return shown(live, as_machine=as_machine)
    saved: list[Json] = [str(path) for path in live.saved]
    show_run(live.run, as_machine=as_machine, extra={"saved": saved})
    if live.saved and not as_machine:
        show_saved(live.saved)
    if not wanted.presets.named and not as_machine:
        err.print(NO_PRESETS, style="dim")
    code = exit_code(live.run, server)
    if live.refused:
        complain(f"the session was not saved: {live.refused}", hint=resume_hint(live.left))
        return USAGE
    if live.dropped:
        complain(f"the session was not saved, because the run did not complete (--mode {mode})")
    return code


def _replay_instead(plan: Plan, path: Path, *, as_machine: bool) -> int:
    """Replay the recording instead of calling the server."""
    from toolreel._cli.progress import RunProgress
    from toolreel.testing import Reel

    with redirect_stdout(sys.stderr), RunProgress() as progress:
        reel = Reel(ReelFiles(path))
        done = reel.run(plan, observe=progress)
        reel.finish()
        reel.close()
        done = replace(done, timing=retrace(read_journal(companion(path))).run.timing)
    show_run(done, as_machine=as_machine, extra={"saved": [], "replayed": str(path)})
    if not as_machine:
        labelled(out, "replayed", str(path), "green")
    ended = outcome_of(done)
    return 0 if isinstance(ended, Completed | None) else FAILED


@click.command("resume", epilog=EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@server_options()
@click.option(
    "--say",
    "message",
    metavar="TEXT",
    help="Say this to the run next; one that has ended then goes on with it.",
)
@source_options
@approve_option
@durable_option
@json_option
@reporting
def resume_command(
    file: Path,
    server: ServerChoice,
    message: str | None,
    sources: SourceChoice,
    approve: Approval,
    durable: bool,
    as_machine: bool,
) -> int:
    """Finish a recorded run that was killed, or that waits for an approval.

    FILE is the name that you gave to `toolreel run --record`, or the journal that the run left behind
    (NAME.journal.jsonl.part). The plan comes from the journal. Recorded steps are not repeated; a tool
    call that was in progress is run again, with the same idempotency key. Pass the same tools as before.
    With --say, a run that has ended goes on, too: the text is the next message of the conversation.

    \b
    toolreel resume cassettes/status/local--qwen \\
        --base-url http://127.0.0.1:8080 --tools my_tools:TOOLS
    """
    with live_session(server, sources, approve, durable=durable) as (session, available):
        live = session.resume(resumed_path(file), available.others, message)
    cut = str(live.cut) if live.cut else None
    if as_machine:
        saved: list[Json] = [str(path) for path in live.saved]
        kept: dict[str, Json] = {"before": live.before, "new": live.new, "cut": cut}
        say(as_json(live.run, {"resumed": kept, "saved": saved}))
    else:
        done = f", {live.new} new" if live.new else ": the run had already ended, nothing was done"
        labelled(out, "resumed", f"after {live.before} events{done}")
        if cut:
            labelled(out, "", f"the last line of the journal was incomplete; it was moved to {cut}", "yellow")
        show_run(live.run)
        if live.saved:
            show_saved(live.saved)
    code = exit_code(live.run, server)
    if live.refused:
        complain(f"the run was not recorded to its end: {live.refused}", hint=resume_hint(live.left))
        return USAGE
    return code
