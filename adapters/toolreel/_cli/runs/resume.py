"""``toolreel resume``: finish a recorded run that was killed or is waiting."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path

import click

from toolreel._cli.options.driver_and_approval import (
    Approval,
    approve_option,
    driver_option,
    live_session,
    timeout_option,
)
from toolreel._cli.options.recording import durable_option, resumed_path
from toolreel._cli.options.server import ServerChoice, server_options
from toolreel._cli.options.sources import SourceChoice, source_options
from toolreel._cli.output.console import complain, labelled, out
from toolreel._cli.output.errors import EPILOG, USAGE, json_option, reporting, say
from toolreel._cli.output.whole_run import as_json, exit_code, resume_hint, show_run, show_saved
from toolreel._replay.replay import Driver
from toolreel_core._jsontext.canonical import Json


@click.command("resume", epilog=EPILOG, short_help="Finish a recorded run that was killed.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--base-url", required=True, metavar="URL", help="Server for the remaining requests.")
@server_options
@click.option(
    "--say",
    "message",
    metavar="TEXT",
    help="Say this to the run next; one that has ended then goes on with it.",
)
@source_options
@approve_option
@driver_option
@timeout_option
@durable_option
@json_option
@reporting
def resume_command(  # noqa: PLR0913, PLR0917 - click hands over every option by name
    file: Path,
    base_url: str,
    server: ServerChoice,
    message: str | None,
    sources: SourceChoice,
    approve: Approval,
    driver: Driver,
    timeout: float,
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
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    from toolreel._cli.output.progress import RunProgress

    with (
        redirect_stdout(sys.stderr),
        RunProgress() as progress,
        sources.open(progress.show_mcp_event) as available,
    ):
        target = server.target(base_url, timeout, available.secrets)
        session = live_session(target, available, approve, progress, driver, durable=durable)
        resumed = session.resume(resumed_path(file), available.others, message)
    run, new = resumed.run, resumed.after - resumed.before
    cut = str(resumed.cut) if resumed.cut else None
    saved: list[Json] = [str(path) for path in resumed.saved]
    if as_machine:
        kept: dict[str, Json] = {"before": resumed.before, "new": new, "cut": cut}
        say(as_json(run, {"resumed": kept, "saved": saved}))
    else:
        was = f"after {resumed.before} events"
        labelled(
            out,
            "resumed",
            f"{was}, {new} new" if new else f"{was}: the run had already ended, nothing was done",
        )
        if cut:
            labelled(out, "", f"the last line of the journal was incomplete; it was moved to {cut}", "yellow")
        show_run(run)
        if resumed.saved:
            show_saved(resumed.saved)
    code = exit_code(run.outcome, base_url, server.api_key_env)
    if resumed.refused:
        complain(f"the run was not recorded to its end: {resumed.refused}", hint=resume_hint(resumed.left))
        return USAGE
    return code
