"""``toolreel runs approve``, ``deny``, ``cancel``, ``speak`` and ``resume``."""

from __future__ import annotations

from typing import Final

import click

from toolreel._cli.durable.looking import run_argument
from toolreel._cli.durable.options import database_option, opened_runs
from toolreel._cli.output.console import labelled, out
from toolreel._cli.output.errors import EPILOG, reporting

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
