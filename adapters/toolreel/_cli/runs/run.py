"""``toolreel run``: run a tool loop against a live server, and optionally record it."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolreel._cli.durable.options import database_option, run_id_option
from toolreel._cli.options.driver_and_approval import (
    Approval,
    approve_option,
    driver_option,
    live_session,
    timeout_option,
)
from toolreel._cli.options.plan_choice import PlanChoice, plan_options
from toolreel._cli.options.presets import NO_PRESETS
from toolreel._cli.options.recording import cassette_path, durable_option, keeping_of, mode_option
from toolreel._cli.options.server import ServerChoice, server_options
from toolreel._cli.options.settings import parse_settings
from toolreel._cli.options.sources import SourceChoice, Sources, source_options
from toolreel._cli.output.console import complain, err, labelled, out
from toolreel._cli.output.errors import EPILOG, FAILED, USAGE, json_option, reporting
from toolreel._cli.output.whole_run import exit_code, resume_hint, show_run, show_saved
from toolreel._driver.run_result import outcome_of
from toolreel._journal.format import companion, read_journal
from toolreel._replay.replay import Driver
from toolreel._replay.retrace import retrace
from toolreel.testing._recording_paths import ReelFiles
from toolreel_core._jsontext.canonical import Json
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.outcome import Completed

if TYPE_CHECKING:
    from toolreel.cassette._session import Mode
    from toolreel.durable import DurableRun


@click.command("run", epilog=EPILOG, short_help="Run a tool loop against a live server, and record it.")
@click.argument("prompt")
@click.option("--model", required=True, help="Model name, as the server lists it.")
@click.option(
    "--base-url",
    required=True,
    metavar="URL",
    help="URL of an OpenAI-compatible server, with or without /v1, such as http://127.0.0.1:8080.",
)
@server_options
@source_options
@plan_options
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
@driver_option
@timeout_option
@json_option
@reporting
def run_command(  # noqa: PLR0913, PLR0917 - click hands over every option by name
    prompt: str,
    model: str,
    base_url: str,
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
    driver: Driver,
    timeout: float,
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
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    from toolreel._cli.output.progress import RunProgress

    if run_id is not None and (record or mode or overwrite or driver != "sync"):
        raise click.UsageError(
            "--run-id keeps the run in --database, so it takes no --record, --mode, --overwrite and "
            "--driver; toolreel runs export writes it to a file"
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
        return _replay(plan_with(sources.recorded(recorded_tools)), keeping, driver, as_machine=as_machine)
    from toolreel._cli.live.live_run import LiveRun

    with (
        redirect_stdout(sys.stderr),
        RunProgress() as progress,
        sources.open(progress.show_mcp_event) as available,
    ):
        if run_id is not None:
            from toolreel._cli.durable.one_run import run_durably

            where, plan = (base_url, server, timeout, available), plan_with(available)
            live: LiveRun | DurableRun = run_durably(run_id, plan, database, where, approve, progress)
        else:
            target = server.target(base_url, timeout, available.secrets)
            session = live_session(target, available, approve, progress, driver, durable=durable)
            live = session.run(plan_with(available), path, keeping)
    if not isinstance(live, LiveRun):
        from toolreel._cli.durable.looking import shown

        return shown(live, as_machine=as_machine)
    saved: list[Json] = [str(path) for path in live.saved]
    show_run(live.run, as_machine=as_machine, extra={"saved": saved})
    if live.saved and not as_machine:
        show_saved(live.saved)
    if not wanted.presets.named and not as_machine:
        err.print(NO_PRESETS, style="dim")
    code = exit_code(live.run.outcome, base_url, server.api_key_env)
    if live.refused:
        complain(f"the session was not saved: {live.refused}", hint=resume_hint(live.left))
        return USAGE
    if live.dropped:
        complain(f"the session was not saved, because the run did not complete (--mode {mode})")
    return code


def _replay(plan: Plan, path: Path, driver: Driver, *, as_machine: bool) -> int:
    """Replay the recording instead of calling the server."""
    from toolreel._cli.output.progress import RunProgress
    from toolreel.testing._reels.reel import rerun

    with redirect_stdout(sys.stderr), RunProgress() as progress:
        done = rerun(plan, ReelFiles(path), driver=driver, observe=progress)
        done = replace(done, timing=retrace(read_journal(companion(path))).run.timing)
    show_run(done, as_machine=as_machine, extra={"saved": [], "replayed": str(path)})
    if not as_machine:
        labelled(out, "replayed", str(path), "green")
    ended = outcome_of(done)
    return 0 if isinstance(ended, Completed | None) else FAILED


def prompt_text(prompt: str) -> str:
    """The prompt; ``-`` reads stdin, without the line break at its end."""
    try:
        text = sys.stdin.buffer.read().decode().rstrip("\r\n") if prompt == "-" else prompt
    except UnicodeDecodeError as error:
        raise click.BadParameter(f"stdin is not UTF-8 at byte {error.start}", param_hint="PROMPT") from None
    if not text.strip():
        raise click.BadParameter("it is empty; write what you want from the model", param_hint="PROMPT")
    return text
