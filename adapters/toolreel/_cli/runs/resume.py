"""``toolreel resume``: finish a recorded run that was killed or is waiting."""

from __future__ import annotations

import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Final

import click

from toolreel._cli.options.recording import durable_option, resumed_path
from toolreel._cli.options.run import (
    Approval,
    api_key_option,
    approve_option,
    approver,
    driver_option,
    timeout_option,
)
from toolreel._cli.options.sources import SourceChoice, source_options
from toolreel._cli.output.console import complain, labelled, out
from toolreel._cli.output.errors import EPILOG, json_option, reporting, say
from toolreel._cli.output.render import as_json, show_outcome, show_plan, show_turns
from toolreel._replay.explain.advice import told
from toolreel._replay.replay import Driver
from toolreel_core._jsontext.canonical import Json

_FAILED: Final = 1


@click.command("resume", epilog=EPILOG, short_help="Finish a recorded run that was killed.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--base-url", required=True, metavar="URL", help="Server for the remaining requests.")
@api_key_option
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
    api_key_env: str | None,
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

    \b
    toolreel resume cassettes/status/local--qwen \\
        --base-url http://127.0.0.1:8080 --tools my_tools:TOOLS
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    from toolreel._cli.live.session import LiveTarget, resume_live
    from toolreel._cli.output.progress import RunProgress

    with (
        redirect_stdout(sys.stderr),
        RunProgress() as progress,
        sources.open(progress.show_mcp_event) as available,
    ):
        resumed = resume_live(
            resumed_path(file),
            LiveTarget(base_url, api_key_env, timeout, available.secrets),
            available.tools,
            others=available.others,
            hosts=available.hosts,
            driver=driver,
            approver=approver(approve, progress),
            observe=progress,
            on_delta=progress.show_delta,
            durable=durable,
        )
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
        show_plan(out, run)
        show_turns(out, run)
        show_outcome(out, run)
        for path in resumed.saved:
            labelled(out, "saved", str(path))
        labelled(out, "", f"next: toolreel replay {shlex.quote(str(resumed.saved[0]))}", "dim")
    if run.completed:
        return 0
    words, hint = told(run.outcome, base_url=base_url, api_key_env=api_key_env)
    complain(words, hint=hint)
    return _FAILED
