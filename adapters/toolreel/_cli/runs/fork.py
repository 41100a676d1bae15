"""``toolreel fork``: continue a recorded run from any event, with a change."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import ExitStack, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolreel._cli.options.driver_and_approval import (
    Approval,
    approve_option,
    live_session,
    timeout_option,
)
from toolreel._cli.options.output_schema import output_schema_option
from toolreel._cli.options.presets import PresetChoice, preset_options
from toolreel._cli.options.recording import cassette_path, save_fork
from toolreel._cli.options.server import ServerChoice, server_options
from toolreel._cli.options.settings import parse_settings, settings_option
from toolreel._cli.options.sources import SourceChoice, Sources, allow_option, deny_option, source_options
from toolreel._cli.output.console import complain, labelled, out
from toolreel._cli.output.errors import DRIFT, EPILOG, USAGE, json_option, reporting, say
from toolreel._cli.output.whole_run import (
    as_json,
    exit_code,
    resume_hint,
    show_outcome,
    show_plan,
    show_turns,
)
from toolreel._cli.runs.diff import show_changes
from toolreel._driver.run_result import Run, outcome_of
from toolreel._internal.errors import AdapterError, ForkError
from toolreel._journal.format import Recorded, opened
from toolreel._replay.explain.plan_and_event_changes import plan_changes
from toolreel._replay.fork import Beginning, Stop, beginning, fork
from toolreel._replay.fork_changes import Changes
from toolreel.cassette._request_diff import Change
from toolreel_core._jsontext.canonical import Json, canonical, read
from toolreel_core._plan.output.spec import OutputSpec
from toolreel_core._tools.masking import masked
from toolreel_core._tools.surface import ToolSurface

if TYPE_CHECKING:
    from toolreel._cli.live.live_target import LiveTarget
    from toolreel._replay.recorded_files import Keeping


@dataclass(frozen=True, slots=True)
class ForkResult:
    """A fork that has run, from a recording or against a live server."""

    begun: Beginning
    run: Run
    stop: Stop | None = None
    saved: tuple[Path, ...] = ()
    refused: AdapterError | None = None
    """Why the fork could not be saved."""
    left: Path | None = None
    """The unfinished journal that was left, if a live fork could not be saved."""


def show_fork(gone: ForkResult, *, as_machine: bool) -> None:
    """Print what the fork keeps and changes, then its run."""
    begun, run, stop = gone.begun, gone.run, gone.stop
    changed = plan_changes(begun.source.plan, begun.plan)
    if as_machine:
        say(as_json(run, {"fork": _tree(gone, changed), "saved": [str(path) for path in gone.saved]}))
        return
    labelled(out, "forked", f"{begun.source.source} at {begun.kept} of {len(begun.source.records)} events")
    show_changes("changed", changed)
    show_plan(out, run)
    show_turns(out, run)
    if outcome_of(run):
        show_outcome(out, run)
    if stop:
        labelled(out, "stopped", f"at event {stop.n}: {stop.why}", "bold red")
    for path in gone.saved:
        labelled(out, "saved", str(path))
    if gone.saved:
        labelled(
            out,
            "",
            f"next: toolreel diff {shlex.quote(begun.source.source)} {shlex.quote(str(gone.saved[-1]))}",
            "dim",
        )


def _tree(gone: ForkResult, changed: Sequence[Change]) -> Json:
    begun = gone.begun
    return {
        "source": begun.source.source,
        "kept": begun.kept,
        "changed": [asdict(change) for change in changed],
        "stop": asdict(gone.stop) if gone.stop else None,
    }


def fork_exit_code(gone: ForkResult, base_url: str, api_key_env: str | None) -> int:
    """The exit code; what went wrong is printed to stderr."""
    outcome = outcome_of(gone.run)
    if gone.refused:
        complain(f"the fork was not saved: {gone.refused}", hint=resume_hint(gone.left))
        return USAGE
    if outcome is None:
        complain(
            "the fork stopped before its end",
            hint="continue with --base-url or --from where the recording has no answer",
        )
        return DRIFT
    return exit_code(outcome, base_url, api_key_env)


@click.command("fork", epilog=EPILOG, short_help="Continue a recorded run from any event, with a change.")
@click.argument("file")
@click.option(
    "--at",
    required=True,
    metavar="N",
    help="Number of events to keep, 0 for none; or a tool call's id, to keep all up to its result.",
)
@click.option("--model", metavar="NAME", help="Use another model.")
@click.option("--prompt", metavar="TEXT", help="Replace the last user message of the plan.")
@click.option("--system", metavar="TEXT", help="Replace the system message.")
@preset_options
@output_schema_option
@settings_option("Change a loop or provider setting, a request option or body.KEY, as for `run`. Repeatable.")
@click.option(
    "--tool-result",
    metavar="TEXT|@FILE",
    help="Replace the tool result that is event N, with JSON or text.",
)
@click.option("--said", metavar="TEXT", help="Replace what the user said in event N of a conversation.")
@source_options
@allow_option
@deny_option
@click.option(
    "--recorded", is_flag=True, help="Take the answers after event N from FILE, while they still fit."
)
@click.option(
    "--from", "other", metavar="OTHER", help="Take the answers after event N from another recording."
)
@click.option(
    "--base-url", metavar="URL", help="Take the answers after event N from a live server; tools are executed."
)
@server_options
@timeout_option
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
    system: str | None,
    presets: PresetChoice,
    output: OutputSpec | None,
    settings: tuple[str, ...],
    tool_result: str | None,
    said: str | None,
    sources: SourceChoice,
    allow: tuple[str, ...],
    deny: tuple[str, ...],
    recorded: bool,
    other: str | None,
    base_url: str | None,
    server: ServerChoice,
    timeout: float,
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
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    from toolreel._replay.recorded_files import check_free

    if sum((recorded, other is not None, base_url is not None)) != 1:
        raise click.UsageError(
            "choose who answers after event N with one of: --base-url URL (a live server), --from OTHER "
            "(another recording), --recorded (FILE itself, while its answers fit)"
        )
    source, path = opened(file), cassette_path(record)
    chosen = parse_settings(settings)
    preset = presets.preset(model or source.plan.model)
    if path and not overwrite:
        check_free(path)
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(sys.stderr))
        recorded_tools = source.plan.tools.definitions
        available = stack.enter_context(sources.open()) if base_url else sources.recorded(recorded_tools)
        changes = Changes(
            model=model,
            prompt=prompt,
            system=system,
            preset=preset,
            config=chosen.config,
            provider=chosen.provider,
            options=chosen.options,
            tools=_other_surface(source, available if sources.any_named else None, allow, deny),
            output=output,
            tool_result=None if tool_result is None else _tool_output(tool_result),
            said=said,
        )
        if base_url is None:
            result = _fork_from_record(source, _place(at), changes, other, path, overwrite=overwrite)
        else:
            begun = beginning(source, _place(at), changes)
            target = server.target(base_url, timeout, available.secrets)
            keeping: Keeping = "overwrite" if overwrite else "new"
            result = _fork_live(begun, target, available, approve, path, keeping)
    show_fork(result, as_machine=as_machine)
    return fork_exit_code(result, base_url or "", server.api_key_env)


def _fork_live(
    begun: Beginning,
    target: LiveTarget,
    sources: Sources,
    approve: Approval,
    path: Path | None,
    keeping: Keeping,
) -> ForkResult:
    """Run the fork against a live server."""
    from toolreel._cli.output.progress import RunProgress

    plan = begun.plan
    if plan.sends_tools and plan.tools.definitions and not (sources.tools or sources.hosts):
        names = ", ".join(tool.name for tool in plan.tools.definitions)
        raise ForkError(
            f"the run has tools ({names}): say what runs them, for example with --tools MODULE:ATTR"
        )
    with RunProgress() as progress:
        session = live_session(target, sources, approve, progress)
        live = session.run(plan, path, keeping, begun.answered)
    return ForkResult(begun, live.run, saved=live.saved, refused=live.refused, left=live.left)


def _fork_from_record(
    source: Recorded,
    at: int | str,
    changes: Changes,
    other: str | None,
    path: Path | None,
    *,
    overwrite: bool,
) -> ForkResult:
    """Run the fork on the answers of a recording, and save it."""
    forked = fork(source, at, changes, answers=other)
    saved: tuple[Path, ...] = ()
    refused: AdapterError | None = None
    try:
        saved = save_fork(forked, path, overwrite=overwrite) if path else ()
    except AdapterError as error:
        refused = error
    return ForkResult(forked.begun, forked.run, forked.stop, saved, refused)


def _place(at: str) -> int | str:
    return int(at) if at.removeprefix("-").isdecimal() else at


def _tool_output(value: str) -> str:
    """The output of a tool: JSON unchanged, other text as a JSON string."""
    text = value
    if value.startswith("@"):
        try:
            text = Path(value[1:]).read_bytes().decode()
        except (OSError, UnicodeDecodeError) as error:
            raise click.BadParameter(f"{value[1:]}: {error}", param_hint="--tool-result") from None
    return read(text).map(lambda _: text).value_or(canonical(text))


def _other_surface(
    source: Recorded, sources: Sources | None, allow: Sequence[str], deny: Sequence[str]
) -> ToolSurface | None:
    """The tools of the fork; ``None`` if they equal those of the recorded run."""
    recorded = source.plan.tools
    surface = sources.surface(allow, deny) if sources else masked(recorded, allow=allow or None, deny=deny)
    return None if surface.fingerprint == recorded.fingerprint else surface
