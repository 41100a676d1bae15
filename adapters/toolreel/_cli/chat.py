"""``toolreel chat``: a conversation with a model and its tools, on a terminal or from a pipe."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stdout, suppress
from typing import TYPE_CHECKING, Final

import click

from toolreel._cli.console import complain, err, labelled, out
from toolreel._cli.errors import EPILOG, FAILED, STOPPED, USAGE, reporting
from toolreel._cli.options import model_option, parse_settings
from toolreel._cli.run_options import (
    Approval,
    PlanChoice,
    approve_option,
    cassette_path,
    durable_option,
    plan_options,
    session_with,
)
from toolreel._cli.server_options import LiveTarget, server_options
from toolreel._cli.tool_options import SourceChoice, source_options
from toolreel._cli.whole_run import exit_code, resume_hint, show_saved
from toolreel._driver import cost_in_words
from toolreel_core._protocol import Cancelled, Completed, ConversationSpent, CostUnknown

if TYPE_CHECKING:
    from toolreel._cli.live_run import Live
    from toolreel._cli.progress import RunProgress
    from toolreel._driver import Run

_COMMANDS: Final = {
    "/help": "list the commands",
    "/exit": "end the conversation, as Ctrl-D does",
    "//": "begin a message with /, as in //help",
}
_NAMED: Final = re.compile(r"/[A-Za-z]\w*(?=\s|$)")
"""The name of a command at the beginning of a line, which no path is: ``/etc/hosts`` has a second slash."""


@click.command("chat", epilog=EPILOG)
@model_option(required=False)
@server_options()
@source_options
@plan_options(
    "Set a loop setting (max_turns=5 for each exchange, max_conversation_turns=50 for all), a provider "
    "setting, a request option (temperature=0) or any other key of the request body. Repeatable.",
    attach=False,
    output=False,
)
@click.option(
    "--record",
    metavar="NAME",
    help="Record the conversation as NAME.yaml and NAME.journal.jsonl; `toolreel replay NAME` replays it.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing recording.")
@click.option("--continue", "goes_on", is_flag=True, help="Go on with the conversation that --record names.")
@durable_option
@approve_option
@reporting
def chat_command(  # noqa: PLR0913, PLR0917 - click hands over every option by name
    model: str | None,
    server: LiveTarget,
    sources: SourceChoice,
    wanted: PlanChoice,
    record: str | None,
    overwrite: bool,
    goes_on: bool,
    durable: bool,
    approve: Approval,
) -> int:
    """Talk with a model that calls tools.

    Each line that you type is a message; the answer is printed when the model has made its calls. Limits
    such as max_turns apply to each message. On a terminal, Ctrl-C during an answer cancels it and the
    conversation goes on; Ctrl-D or /exit ends it, and /help lists the commands. From a pipe, each line is a
    message and each answer is printed to stdout.

    \b
    toolreel chat --model qwen2.5-coder-1.5b --base-url http://127.0.0.1:8080 \\
        --preset qwen2_5_coder --tools toolreel.demo:TOOLS \\
        --record cassettes/talk/local--qwen
    toolreel replay cassettes/talk/local--qwen

    With --continue, the recorded conversation goes on, under the plan of its journal. Exits with 1 if a
    message was not answered, unless Ctrl-C cancelled it.
    """
    from toolreel._cli.progress import RunProgress
    from toolreel._replay import check_free

    path = cassette_path(record)
    if goes_on and (path is None or overwrite):
        raise click.UsageError("--continue goes on with a recording: give --record NAME, without --overwrite")
    if not goes_on and model is None:
        raise click.UsageError("Missing option '--model'.")
    parse_settings(wanted.settings)  # what is wrong with them is said before any tool server starts
    progress, code = RunProgress(), 0
    live: Live | None = None
    with ExitStack() as stack:
        with redirect_stdout(sys.stderr):
            available = stack.enter_context(sources.open(progress.show_mcp_event))
        session = session_with(progress, server, available, approve, durable=durable)
        try:
            if goes_on and path:
                live, files = session.reopened(path)
                session.check_tools(files, available.others)
            elif path and not overwrite:
                check_free(path)  # before the user has typed anything
            for content in _user_messages(progress):
                with redirect_stdout(sys.stderr), progress:
                    if live is None:
                        plan = wanted.plan(str(model), content, available, server.fallbacks)
                        live = session.begun(plan, path, "overwrite" if overwrite else "new")
                    session.go(live, content if live.state else None)
                run = live.reached
                live.state = run.state
                code = _show_answer(run, server) or code
                spent = isinstance(run.outcome, ConversationSpent | CostUnknown)
                if spent or (live.files and live.files.refused):
                    break
        finally:
            saved = live.close() if live else ()
    if live and live.files and live.files.refused:
        complain(f"the conversation was not saved: {live.files.refused}", hint=resume_hint(live.files.left))
        return USAGE
    if saved:
        show_saved(saved, err)
    return code


def _show_answer(run: Run, server: LiveTarget) -> int:
    """Print how an exchange ended, how long it took, and what the conversation has cost; the exit code."""
    outcome, code = run.outcome, 0
    if isinstance(outcome, Completed):
        if out.is_terminal:
            labelled(out, "model", outcome.content, "bold")
        else:
            out.print(outcome.content)
    elif outcome == Cancelled(STOPPED):
        err.print("cancelled; say something else, or end with Ctrl-D", style="yellow")
    else:
        exit_code(run, server)  # says what went wrong
        code = FAILED
    cost = cost_in_words(run)
    if shown := ", ".join(filter(None, (str(run.timing), cost and f"cost so far {cost}"))):
        err.print(shown, style="dim")
    return code


def _user_messages(progress: RunProgress) -> Iterator[str]:
    """What the user says, line by line, without empty lines."""
    lines = _lines_of_terminal(progress) if sys.stdin.isatty() else _lines_of_pipe()
    return (line for line in lines if line.strip())


def _lines_of_pipe() -> Iterator[str]:
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            yield line.decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise click.UsageError(f"stdin, line {number}: not UTF-8 at byte {error.start}") from None


def _lines_of_terminal(progress: RunProgress) -> Iterator[str]:
    with suppress(ImportError):
        import readline  # noqa: F401 - gives input() line editing and a history
    err.print("/help lists the commands, Ctrl-D ends the conversation", style="dim")
    while True:
        try:
            with progress.paused():
                line = input("you> ").strip()
        except EOFError:
            err.print()
            return
        except KeyboardInterrupt:
            err.print("\nCtrl-D ends the conversation", style="dim")
            continue
        named = _NAMED.match(line)
        match named and named[0]:
            case None:
                yield line.removeprefix("/") if line.startswith("//") else line
            case "/exit":
                return
            case "/help":
                for name, what in _COMMANDS.items():
                    labelled(err, name, what)
            case name:
                complain(
                    f"there is no command {name}", hint=f"/help lists them; /{line} sends it as a message"
                )
