"""``toolreel run``, ``resume``, ``chat`` and ``fork``: runs against a live server, recorded."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolreel._cli.console import complain, err, out, print_labelled
from toolreel._cli.errors import DRIFT, FAILED, STOPPED, command, json_option, print_json
from toolreel._cli.options import (
    FILE_PATH,
    NO_PRESETS,
    LiveTarget,
    model_option,
    overwrite_option,
    server_options,
)
from toolreel._cli.recordings import show_changes
from toolreel._cli.run_options import (
    Approval,
    PlanChoice,
    SourceChoice,
    Sources,
    approve_option,
    cassette_path_from_name,
    cassette_path_of_run,
    database_option,
    durable_option,
    open_live_session,
    plan_options,
    read_prompt,
    run_id_option,
    source_options,
)
from toolreel._cli.whole_run import (
    EndedRun,
    print_recording_error,
    report_recorded_run_failure,
    report_run_failure,
    run_as_json,
    show_outcome,
    show_plan,
    show_run,
    show_saved_files,
    show_turns,
)
from toolreel._driver import Later, cost_in_words
from toolreel._internal import ForkError
from toolreel._journal import journal_path, load_recorded_run, part_path
from toolreel._replay import (
    Changes,
    Forked,
    check_not_recorded,
    fork,
    fork_without_continuing,
    plan_changes,
    save_journals,
)
from toolreel_core._jsontext import canonical, read_json
from toolreel_core._protocol import Cancelled, Completed, ConversationSpent, CostUnknown
from toolreel_core._tools import masked

if TYPE_CHECKING:
    from toolreel._cli.live_run import Live
    from toolreel._cli.progress import RunProgress
    from toolreel._driver import Run
    from toolreel.durable import DurableRun


@command("run")
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
@overwrite_option("Replace an existing recording, even if the run fails.")
@durable_option
@run_id_option
@database_option
@approve_option
@json_option
def run_command(  # noqa: PLR0913, PLR0917 - click hands over every option by name
    prompt: str,
    model: str,
    server: LiveTarget,
    sources: SourceChoice,
    wanted: PlanChoice,
    record: str | None,
    overwrite: bool,
    durable: bool,
    run_id: str | None,
    database: str | None,
    approve: Approval,
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
    if run_id is not None and (record or overwrite):
        raise click.UsageError(
            "--run-id keeps the run in --database, so it takes no --record and --overwrite; toolreel durable "
            "export writes it to a file"
        )
    wanted.presets.preset(model)  # what is wrong with it is said before any tool server starts
    path, text = cassette_path_from_name(record), read_prompt(prompt)
    absent = Later() if run_id else None  # a durable run waits for `toolreel durable approve`
    with open_live_session(server, sources, approve, durable=durable, absent=absent) as (session, available):
        plan = wanted.make_plan(model, text, available, server.fallbacks)
        if run_id is None:
            live: EndedRun | DurableRun = session.run(plan, path, overwrite=overwrite)
        else:
            from toolreel._cli.durable import run_durably

            live = run_durably(run_id, plan, database, session, available)
    if not isinstance(live, EndedRun):
        from toolreel._cli.durable import print_run

        return print_run(live, as_machine=as_machine)
    show_run(live.run, as_machine=as_machine, extra={"saved": live.saved})
    if not as_machine:
        show_saved_files(live.saved)
        if not wanted.presets.is_given:
            err.print(NO_PRESETS, style="dim")
    return report_recorded_run_failure(live, server)


@command("resume")
@click.argument("file", type=FILE_PATH)
@server_options()
@source_options
@approve_option
@durable_option
@json_option
def resume_command(
    file: Path,
    server: LiveTarget,
    sources: SourceChoice,
    approve: Approval,
    durable: bool,
    as_machine: bool,
) -> int:
    """Finish a recorded run that was killed, or that waits for an approval.

    FILE is the name that you gave to `toolreel run --record`, or the journal that the run left behind
    (NAME.journal.jsonl.part). The plan comes from the journal. Recorded steps are not repeated; a tool
    call that was in progress is run again, with the same idempotency key. Pass the same tools as before.
    `toolreel chat --continue` goes on with one that has ended.

    \b
    toolreel resume cassettes/status/local--qwen \\
        --base-url http://127.0.0.1:8080 --tools my_tools:TOOLS
    """
    with open_live_session(server, sources, approve, durable=durable) as (session, _):
        live = session.resume(cassette_path_of_run(file))
    if as_machine:
        kept = {"before": live.before, "new": live.new, "cut": live.cut}
        print_json(run_as_json(live.run, {"resumed": kept, "saved": live.saved}))
    else:
        done = f", {live.new} new" if live.new else ": the run had already ended, nothing was done"
        print_labelled("resumed", f"after {live.before} events{done}")
        if live.cut:
            moved = f"the last line of the journal was incomplete; it was moved to {live.cut}"
            print_labelled("", moved, "yellow")
        show_run(live.run)
        show_saved_files(live.saved)
    return report_recorded_run_failure(live, server)


# ``toolreel chat``: a conversation with a model and its tools, on a terminal or from a pipe.


_COMMANDS = {
    "/help": "list the commands",
    "/exit": "end the conversation, as Ctrl-D does",
    "//": "begin a message with /, as in //help",
}
_NAMED = re.compile(r"/[A-Za-z]\w*(?=\s|$)")
"""The name of a command at the beginning of a line, which no path is: ``/etc/hosts`` has a second slash."""


@command("chat")
@model_option(required=False)
@server_options()
@source_options
@plan_options(
    "Set a loop setting (max_turns=5 for each exchange, max_conversation_turns=50 for all), a provider "
    "setting, a request option (temperature=0) or any other key of the request body. Repeatable.",
)
@click.option(
    "--record",
    metavar="NAME",
    help="Record the conversation as NAME.yaml and NAME.journal.jsonl; `toolreel replay NAME` replays it.",
)
@overwrite_option("Replace an existing recording.")
@click.option("--continue", "goes_on", is_flag=True, help="Go on with the conversation that --record names.")
@durable_option
@approve_option
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
    path = cassette_path_from_name(record)
    if goes_on and (path is None or overwrite):
        raise click.UsageError("--continue goes on with a recording: give --record NAME, without --overwrite")
    if not goes_on and model is None:
        raise click.UsageError("Missing option '--model'.")
    code = 0
    live: Live | None = None
    with open_live_session(server, sources, approve, durable=durable) as (session, available):
        try:
            if goes_on and path:
                live, files = session.reopen(path)
                session.check_tools_match_recording(files)
            elif path and not overwrite:
                check_not_recorded(path)  # before the user has typed anything
            lines = _lines_of_terminal(session.progress) if sys.stdin.isatty() else _lines_of_pipe()
            for content in filter(str.strip, lines):
                if live is None:
                    plan = wanted.make_plan(str(model), content, available, server.fallbacks)
                    live = session.begin(plan, path, overwrite=overwrite)
                session.perform(live, content if live.has_begun else None)
                run = live.log.run
                code = _show_answer(run, server, session.progress.streamed_text) or code
                spent = isinstance(run.outcome, ConversationSpent | CostUnknown)
                if spent or (live.files and live.files.journal.failure):
                    break
        finally:
            ended = live.close() if live else None
    if ended and ended.refused:
        return print_recording_error(ended)
    if ended:
        show_saved_files(ended.saved, err)
    return code


def _show_answer(run: Run, server: LiveTarget, streamed: str) -> int:
    outcome, code = run.outcome, 0
    if isinstance(outcome, Completed):
        if not out.is_terminal:
            out.print(outcome.content)
        elif outcome.content != streamed or not streamed:  # else it is on the terminal already
            print_labelled("model", outcome.content, "bold")
    elif outcome == Cancelled(STOPPED):
        err.print("cancelled; say something else, or end with Ctrl-D", style="yellow")
    else:
        report_run_failure(run, server)  # says what went wrong
        code = FAILED
    cost = cost_in_words(run)
    if shown := ", ".join(filter(None, (str(run.timing), cost and f"cost so far {cost}"))):
        err.print(shown, style="dim")
    return code


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
            with progress.pause_drawing():
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
                    print_labelled(name, what, console=err)
            case name:
                complain(
                    f"there is no command {name}", hint=f"/help lists them; /{line} sends it as a message"
                )


# ``toolreel fork``: continue a recorded run from any event, with a change.


@command("fork")
@click.argument("file")
@click.option(
    "--at",
    type=int,
    required=True,
    metavar="N",
    help="Number of events to keep, 0 for none; `toolreel explain` shows them.",
)
@click.option("--model", metavar="NAME", help="Use another model.")
@click.option("--prompt", metavar="TEXT", help="Replace the last user message of the plan.")
@plan_options(
    "Change a loop or provider setting, a request option or body.KEY, as for `run`. Repeatable.",
    "Replace the system message.",
)
@click.option(
    "--tool-result",
    metavar="TEXT",
    help="Replace the tool result that is event N, with JSON or text.",
)
@click.option("--said", metavar="TEXT", help="Replace what the user said in event N of a conversation.")
@source_options
@click.option(
    "--recorded", is_flag=True, help="Take the answers after event N from FILE, while they still fit."
)
@click.option(
    "--from", "other", metavar="OTHER", help="Take the answers after event N from another recording."
)
@server_options(required=False)
@approve_option
@click.option(
    "--record",
    metavar="NAME",
    help="Record the fork as NAME.journal.jsonl; a live fork with --at 0 gets a cassette too.",
)
@overwrite_option("Replace an existing recording.")
@json_option
def fork_command(  # noqa: PLR0913, PLR0917 - click hands over every option by name
    file: str,
    at: int,
    model: str | None,
    prompt: str | None,
    wanted: PlanChoice,
    tool_result: str | None,
    said: str | None,
    sources: SourceChoice,
    recorded: bool,
    other: str | None,
    server: LiveTarget,
    approve: Approval,
    record: str | None,
    overwrite: bool,
    as_machine: bool,
) -> int:
    """Continue a recorded run from event N, with a change.

    The first N events of FILE are kept as recorded. A changed plan (model, prompt, preset, setting,
    tools, output) applies from the beginning: the kept replies and results stay, although the requests would
    have differed. --tool-result and --said replace event N. What follows is new, and you choose who answers:
    --base-url (a live server), --from (another recording) or --recorded (FILE itself).

    Event N is line N + 1 of the journal (NAME.journal.jsonl), whose first line is the plan.

    \b
    toolreel fork cassettes/workspace/local--qwen2.5-coder-1.5b --at 4 \\
        --tool-result '{"changed": "/release/status"}' --recorded

    Exits with 3 if the recording has no answer for a request, so that the fork stops there.
    """
    if sum((recorded, other is not None, server.base_url is not None)) != 1:
        raise click.UsageError(
            "choose who answers after event N with one of: --base-url URL (a live server), --from OTHER "
            "(another recording), --recorded (FILE itself, while its answers fit)"
        )
    if sources.has_named_sources and not server.base_url:
        raise click.UsageError(
            "only a live fork (--base-url) runs tools; --allow and --deny mask recorded ones"
        )
    source, path = load_recorded_run(file), cassette_path_from_name(record)
    chosen = wanted.settings
    preset = wanted.presets.preset(model or source.plan.model)
    if path and not overwrite:
        check_not_recorded(path)
    with ExitStack() as stack:
        if server.base_url:
            session, available = stack.enter_context(open_live_session(server, sources, approve))
        else:
            session, available = None, Sources()
        recorded_tools = source.plan.tools
        if sources.has_named_sources:
            surface = available.surface(wanted.allow, wanted.deny)
        else:
            surface = masked(recorded_tools, allow=wanted.allow or None, deny=wanted.deny)
        changes = Changes(
            model=model,
            prompt=prompt,
            system=wanted.system,
            preset=preset,
            config=chosen.config,
            provider=chosen.provider,
            options=chosen.options,
            tools=None if surface.fingerprint == recorded_tools.fingerprint else surface,
            tool_result=None if tool_result is None else _tool_result_as_json(tool_result),
            said=said,
        )
        if session:
            forked = fork_without_continuing(source, at, changes)
            if forked.plan.sends_tools and forked.plan.tools.definitions and not sources.has_named_sources:
                raise ForkError(
                    f"the run has tools ({', '.join(tool.name for tool in forked.plan.tools.definitions)}): "
                    "say what runs them, for example with --tools MODULE:ATTR"
                )
            live = session.run(forked.plan, path, overwrite=overwrite, earlier=forked.answered)
        else:
            forked = fork(source, at, changes, answers=other)
            live = EndedRun(forked.run, _save_fork(forked, path, overwrite=overwrite) if path else ())
    _show_fork(forked, live, as_machine=as_machine)
    if live.run.state.outcome is None and not live.refused:
        hint = (
            "with --recorded nothing is sent and no tool runs: continue with --base-url, or with --from and "
            "another recording"
        )
        complain("the fork stopped before its end", hint=hint)
        return DRIFT
    return report_recorded_run_failure(live, server)


def _save_fork(forked: Forked, cassette: Path, *, overwrite: bool) -> tuple[Path]:
    """Write the journal of a fork; delete a stale cassette of that name. Existing files stay if it fails."""
    path = journal_path(cassette)
    if not overwrite and part_path(path).exists():
        raise ForkError(
            f"{part_path(path)} is what a run left that did not end: go on with it (toolreel resume)"
        )
    save_journals([forked.recorded], [path])
    cassette.unlink(missing_ok=True)
    return (path,)


def _show_fork(forked: Forked, ended: EndedRun, *, as_machine: bool) -> None:
    source, run, stop = forked.source, ended.run, forked.stop
    changed = plan_changes(source.plan, forked.plan)
    if as_machine:
        tree = {"source": source.source, "kept": forked.kept, "changed": changed, "stop": stop}
        print_json(run_as_json(run, {"fork": tree, "saved": ended.saved}))
        return
    print_labelled("forked", f"{source.source} at {forked.kept} of {len(source.records)} events")
    show_changes("changed", changed)
    show_plan(run)
    show_turns(run)
    if run.state.outcome:
        show_outcome(run)
    if stop:
        print_labelled("stopped", f"at event {stop.n}: {stop.why}", "bold red")
    for path in ended.saved:
        print_labelled("saved", str(path))
    if ended.saved:
        names = f"{shlex.quote(source.source)} {shlex.quote(str(ended.saved[-1]))}"
        print_labelled("", f"next: toolreel explain {names}", "dim")


def _tool_result_as_json(value: str) -> str:
    return read_json(value).map(lambda _: value).value_or(canonical(value))
