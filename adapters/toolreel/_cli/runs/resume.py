"""``toolreel resume``: a recorded run that was killed, or rests, taken to its end."""

from __future__ import annotations

import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Final

import click

from toolreel._cli.options.approval import APPROVALS, Approval, approver
from toolreel._cli.options.recording import durable_option, resumed_path
from toolreel._cli.options.sources import SourceChoice, source_options
from toolreel._cli.output.console import complain, labelled, out
from toolreel._cli.output.errors import EPILOG, json_option, reporting, say
from toolreel._cli.output.render import as_json, show_outcome, show_plan, show_turns
from toolreel._replay.explain.advice import told
from toolreel._replay.replay import DRIVERS, Driver
from toolreel_core._jsontext.canonical import Json

__all__ = ["resume_command"]

_FAILED: Final = 1


@click.command("resume", epilog=EPILOG, short_help="Go on with a recorded run that was killed.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--base-url", required=True, metavar="URL", help="The server that answers from now on.")
@click.option("--api-key-env", metavar="VAR", help="The environment variable that holds its API key.")
@source_options
@click.option(
    "--approve",
    type=click.Choice(APPROVALS),
    default="ask",
    show_default=True,
    help="Who decides about tools that need approval: you, or nobody.",
)
@click.option("--driver", type=click.Choice(DRIVERS), default="sync", show_default=True, help="As for run.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for a reply, or for the next piece of a streamed one.",
)
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
    """Go on with a recorded run that was killed, to its end.

    FILE is what `toolreel run --record` was told, or the journal (NAME.journal.jsonl.part) that the
    run left. The plan is the journal's. What stands in it is not done again; a tool that was under
    way is run once more, with the same idempotency key.

    \b
    toolreel resume cassettes/status/local--qwen \\
        --base-url http://127.0.0.1:8080 --tools my_tools:TOOLS
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    from toolreel._cli.live.session import LiveTarget, resume_live
    from toolreel._cli.output.progress import RunProgress

    with redirect_stdout(sys.stderr), RunProgress() as watching, sources.open(watching.learn) as given:
        resumed = resume_live(
            resumed_path(file),
            LiveTarget(base_url, api_key_env, timeout, given.secrets),
            given.tools,
            others=given.others,
            hosts=given.hosts,
            driver=driver,
            approver=approver(approve, watching),
            observe=watching,
            on_delta=watching.hear,
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
        labelled(out, "resumed", f"{was}, {new} new" if new else f"{was}: it had ended, nothing was done")
        if cut:
            labelled(out, "", f"the last line was cut in the middle; it is kept in {cut}", "yellow")
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
