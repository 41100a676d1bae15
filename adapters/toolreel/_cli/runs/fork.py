"""``toolreel fork``: a recorded run from any event on, with something changed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolreel._cli.live.set_options import parse_settings
from toolreel._cli.options.approval import APPROVALS, Approval, approver
from toolreel._cli.options.presets import (
    catalogue_option,
    composed_preset,
    preset_option,
    provider_option,
    sampling_option,
)
from toolreel._cli.options.recording import cassette_path, check_free, save_fork
from toolreel._cli.options.sources import SourceChoice, Sources, source_options
from toolreel._cli.output.errors import EPILOG, json_option, reporting
from toolreel._cli.runs.fork_result import ForkResult, fork_exit_code, show_fork
from toolreel._cli.tools import allow_option, deny_option
from toolreel._errors import AdapterError, ForkError
from toolreel._journal.record import Recorded
from toolreel._replay.changes import Changes
from toolreel._replay.fork import Beginning, beginning, fork
from toolreel._replay.trace import opened
from toolreel.presets._catalogues import with_files
from toolreel_core._jsontext.canonical import canonical, read
from toolreel_core._tools.sources import masked
from toolreel_core._tools.surface import ToolSurface

if TYPE_CHECKING:
    from toolreel._cli.live.session import LiveTarget

__all__ = ["fork_command"]


@click.command("fork", epilog=EPILOG, short_help="Go on from any event of a recorded run, with a change.")
@click.argument("file")
@click.option(
    "--at",
    required=True,
    metavar="N",
    help="How many events are kept, 0 for none; or the id of a tool call, whose result is the last of them.",
)
@click.option("--model", metavar="NAME", help="Another model.")
@click.option("--prompt", metavar="TEXT", help="Another text for the last user message of the plan.")
@click.option("--system", metavar="TEXT", help="Another system message.")
@provider_option
@preset_option
@sampling_option
@catalogue_option
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting of the loop or of the provider, an option of the request, or body.KEY; may be repeated.",
)
@click.option(
    "--tool-result",
    metavar="TEXT|@FILE",
    help="What the tool returned whose result is event N: JSON, or a text.",
)
@source_options
@allow_option
@deny_option
@click.option("--recorded", is_flag=True, help="FILE itself answers from there on, as far as it carries.")
@click.option("--from", "other", metavar="OTHER", help="Another record answers, from its event N + 1 on.")
@click.option("--base-url", metavar="URL", help="A live server answers; tools run for real.")
@click.option("--api-key-env", metavar="VAR", help="The environment variable that holds its API key.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for a reply.",
)
@click.option(
    "--approve",
    type=click.Choice(APPROVALS),
    default="ask",
    show_default=True,
    help="Who decides about tools that need approval: you, or nobody.",
)
@click.option(
    "--record",
    metavar="NAME",
    help="Keep the fork as NAME.journal.jsonl; a live one that keeps no event has a cassette as well.",
)
@click.option("--overwrite", is_flag=True, help="Replace files of that name.")
@json_option
@reporting
def fork_command(  # noqa: PLR0913, PLR0917 - click hands over every option by name
    file: str,
    at: str,
    model: str | None,
    prompt: str | None,
    system: str | None,
    provider: str | None,
    presets: tuple[str, ...],
    sampling: str | None,
    catalogues: tuple[Path, ...],
    settings: tuple[str, ...],
    tool_result: str | None,
    sources: SourceChoice,
    allow: tuple[str, ...],
    deny: tuple[str, ...],
    recorded: bool,
    other: str | None,
    base_url: str | None,
    api_key_env: str | None,
    timeout: float,
    approve: Approval,
    record: str | None,
    overwrite: bool,
    as_machine: bool,
) -> int:
    """Go on from event N of a recorded run with something changed.

    The first N events of FILE are kept as they were recorded. A changed plan (model, prompt, preset,
    setting, tools) holds from the beginning: the kept replies and results stand, although the
    requests would have been others. A changed tool result takes the place of event N. All that
    comes after is new, and answered by --base-url, --from or --recorded.

    \b
    toolreel fork cassettes/workspace/local--qwen2.5-coder-1.5b --at 4 \\
        --tool-result '{"changed": "/release/status"}' --recorded

    Exits with 3 where a record does not carry on to the end of the run.
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    from toolreel._cli.live.session import LiveTarget

    if sum((recorded, other is not None, base_url is not None)) != 1:
        raise click.UsageError(
            "say who answers after event N, by one of: --base-url URL (a live server), --from OTHER "
            "(another record), --recorded (this record, as far as it carries)"
        )
    source, path = opened(file), cassette_path(record)
    chosen = parse_settings(settings)
    preset = composed_preset(
        with_files(catalogues),
        provider=provider,
        model=model or source.plan.model,
        names=presets,
        sampling=sampling,
    )
    if path:
        check_free(path, overwrite=overwrite)
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(sys.stderr))
        were = source.plan.tools.definitions
        given = stack.enter_context(sources.open()) if base_url else sources.recorded(were)
        changes = Changes(
            model=model,
            prompt=prompt,
            system=system,
            preset=preset,
            config=chosen.config,
            provider=chosen.provider,
            options=chosen.options,
            tools=_other_surface(source, given if sources.made else None, allow, deny),
            tool_result=None if tool_result is None else _tool_output(tool_result),
        )
        if base_url is None:
            gone = _fork_from_record(source, _place(at), changes, other, path, overwrite=overwrite)
        else:
            begun = beginning(source, _place(at), changes)
            target = LiveTarget(base_url, api_key_env, timeout, given.secrets)
            gone = _LiveFork(target, approve, given, path, overwrite).gone(begun)
    show_fork(gone, as_machine=as_machine)
    return fork_exit_code(gone, base_url or "", api_key_env)


@dataclass(frozen=True, slots=True)
class _LiveFork:
    """A live server, and all that a run against it needs."""

    target: LiveTarget
    approve: Approval
    given: Sources
    record: Path | None
    overwrite: bool

    def gone(self, begun: Beginning) -> ForkResult:
        """The fork, once it has gone on."""
        from toolreel._cli.live.session import run_live
        from toolreel._cli.output.progress import RunProgress

        plan = begun.plan
        if plan.sends_tools and plan.tools.definitions and not (self.given.tools or self.given.hosts):
            names = ", ".join(tool.name for tool in plan.tools.definitions)
            raise ForkError(f"the run has tools ({names}): name who runs them, such as --tools MODULE:ATTR")
        with redirect_stdout(sys.stderr), RunProgress() as watching:
            live = run_live(
                plan,
                self.target,
                self.given.tools,
                hosts=self.given.hosts,
                approver=approver(self.approve, watching),
                record=self.record,
                keeping="overwrite" if self.overwrite else "new",
                observe=watching,
                on_delta=watching.hear,
                earlier=begun.answered,
            )
        return ForkResult(begun, live.run, saved=live.saved, refused=live.refused)


def _fork_from_record(
    source: Recorded,
    at: int | str,
    changes: Changes,
    other: str | None,
    path: Path | None,
    *,
    overwrite: bool,
) -> ForkResult:
    """The fork, gone on from a record."""
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


def _tool_output(given: str) -> str:
    """The output of a tool: JSON as it stands, any other text as a JSON string."""
    text = given
    if given.startswith("@"):
        try:
            text = Path(given[1:]).read_bytes().decode()
        except (OSError, UnicodeDecodeError) as error:
            raise click.BadParameter(f"{given[1:]}: {error}", param_hint="--tool-result") from None
    return read(text).map(lambda _: text).value_or(canonical(text))


def _other_surface(
    source: Recorded, given: Sources | None, allow: Sequence[str], deny: Sequence[str]
) -> ToolSurface | None:
    """The tools that the fork has, if they are not those of the recorded run."""
    was = source.plan.tools
    surface = given.surface(allow, deny) if given else masked(was, allow=allow or None, deny=deny)
    return None if surface.fingerprint == source.plan.tools.fingerprint else surface
