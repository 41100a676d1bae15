"""``toolreel fork``: continue a recorded run from any event, with a change."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import ExitStack, redirect_stdout
from pathlib import Path

import click

from toolreel._cli.console import complain, labelled, out
from toolreel._cli.errors import DRIFT, EPILOG, USAGE, json_option, reporting, say
from toolreel._cli.explain import show_changes
from toolreel._cli.options import parse_settings
from toolreel._cli.run_options import (
    Approval,
    PlanChoice,
    approve_option,
    cassette_path,
    live_session,
    plan_options,
)
from toolreel._cli.server_options import LiveTarget, server_options
from toolreel._cli.tool_options import SourceChoice, source_options
from toolreel._cli.whole_run import (
    EndedRun,
    as_json,
    exit_code,
    resume_hint,
    show_outcome,
    show_plan,
    show_turns,
)
from toolreel._driver import outcome_of
from toolreel._internal import AdapterError, ForkError
from toolreel._journal import FileJournal, companion, opened
from toolreel._replay import Beginning, Changes, Forked, Stop, beginning, check_free, fork, plan_changes
from toolreel._secrets import known_secrets, refuse_secrets_in_line
from toolreel_core._jsontext import canonical, read
from toolreel_core._tools import masked


@click.command("fork", epilog=EPILOG)
@click.argument("file")
@click.option(
    "--at",
    required=True,
    metavar="N",
    help="Number of events to keep, 0 for none; or a tool call's id, to keep all up to its result.",
)
@click.option("--model", metavar="NAME", help="Use another model.")
@click.option("--prompt", metavar="TEXT", help="Replace the last user message of the plan.")
@plan_options(
    "Change a loop or provider setting, a request option or body.KEY, as for `run`. Repeatable.",
    "Replace the system message.",
    attach=False,
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
@click.option("--overwrite", is_flag=True, help="Replace an existing recording.")
@json_option
@reporting
def fork_command(  # noqa: PLR0913, PLR0917 - click hands over every option by name
    file: str,
    at: str,
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
    source, path = opened(file), cassette_path(record)
    chosen = parse_settings(wanted.settings)
    preset = wanted.presets.preset(model or source.plan.model)
    if path and not overwrite:
        check_free(path)
    with ExitStack() as stack:
        if server.base_url:
            session, available = stack.enter_context(live_session(server, sources, approve))
        else:
            stack.enter_context(redirect_stdout(sys.stderr))
            session, available = None, sources.recorded(source.plan.tools.definitions)
        recorded_tools = source.plan.tools
        if sources.any_named:
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
            output=wanted.output,
            tool_result=None if tool_result is None else _tool_output(tool_result),
            said=said,
        )
        place = int(at) if at.removeprefix("-").isdecimal() else at
        if session:
            begun, stop = beginning(source, place, changes), None
            if (
                begun.plan.sends_tools
                and begun.plan.tools.definitions
                and not (available.tools or available.hosts)
            ):
                raise ForkError(
                    f"the run has tools ({', '.join(tool.name for tool in begun.plan.tools.definitions)}): "
                    "say what runs them, for example with --tools MODULE:ATTR"
                )
            live = session.run(begun.plan, path, "overwrite" if overwrite else "new", begun.answered)
        else:
            forked = fork(source, place, changes, answers=other)
            begun, stop = forked.begun, forked.stop
            live = _save_fork(forked, path, overwrite=overwrite)
    _show_fork(begun, live, stop, as_machine=as_machine)
    outcome = outcome_of(live.run)
    if live.refused:
        complain(f"the fork was not saved: {live.refused}", hint=resume_hint(live.left))
        return USAGE
    if outcome is None:
        hint = (
            "with --recorded nothing is sent and no tool runs: continue with --base-url, or with --from and "
            "another recording"
        )
        complain("the fork stopped before its end", hint=hint)
        return DRIFT
    return exit_code(live.run, server)


def _save_fork(forked: Forked, cassette: Path | None, *, overwrite: bool) -> EndedRun:
    """Write the journal of a fork; delete a stale cassette of that name. Existing files stay if it fails."""
    if cassette is None:
        return EndedRun(forked.run)
    path, secrets = companion(cassette), known_secrets(os.environ)
    try:
        for number, line in enumerate(forked.recorded.text.split("\n")[:-1], 1):
            refuse_secrets_in_line(line, secrets, f"{path}, line {number}")
        with FileJournal(path, forked.begun.plan, known_secrets=secrets, overwrite=overwrite) as journal:
            for effect, event in forked.answered:
                journal.record(effect, event)
    except AdapterError as error:
        return EndedRun(forked.run, refused=error)
    cassette.unlink(missing_ok=True)
    return EndedRun(forked.run, (path,))


def _show_fork(begun: Beginning, ended: EndedRun, stop: Stop | None, *, as_machine: bool) -> None:
    """Print what the fork keeps and changes, then its run."""
    source, run = begun.source, ended.run
    changed = plan_changes(source.plan, begun.plan)
    if as_machine:
        tree = {"source": source.source, "kept": begun.kept, "changed": changed, "stop": stop}
        say(as_json(run, {"fork": tree, "saved": ended.saved}))
        return
    labelled(out, "forked", f"{source.source} at {begun.kept} of {len(source.records)} events")
    show_changes("changed", changed)
    show_plan(out, run)
    show_turns(out, run)
    if outcome_of(run):
        show_outcome(out, run)
    if stop:
        labelled(out, "stopped", f"at event {stop.n}: {stop.why}", "bold red")
    for path in ended.saved:
        labelled(out, "saved", str(path))
    if ended.saved:
        names = f"{shlex.quote(source.source)} {shlex.quote(str(ended.saved[-1]))}"
        labelled(out, "", f"next: toolreel explain {names}", "dim")


def _tool_output(value: str) -> str:
    """The output of a tool: JSON unchanged, other text as a JSON string."""
    return read(value).map(lambda _: value).value_or(canonical(value))
