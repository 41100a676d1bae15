"""Options for a run: its plan, its recording, its driver, and who approves calls."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import click

from toolreel._cli.console import err, printable, withhold
from toolreel._cli.errors import SharedOption
from toolreel._cli.options import (
    Command,
    FallbackChoice,
    PresetChoice,
    bundle,
    choices,
    parse_settings,
    preset_options,
    settings_option,
    with_fallbacks,
)
from toolreel._cli.progress import RunProgress
from toolreel._cli.tool_options import Sources, allow_option, deny_option
from toolreel._driver import Always, Approver, Never, attach
from toolreel._journal import companion
from toolreel._secrets import SecretRules, read_rules, rules_in
from toolreel_core._conversation import Media, SystemMessage, user_message
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import either, read
from toolreel_core._plan import OutputSpec, Plan
from toolreel_core._protocol import ApprovalGiven, AskApproval

if TYPE_CHECKING:
    from collections.abc import Generator

    from toolreel._cli.live_run import LiveSession
    from toolreel._cli.options import LiveTarget
    from toolreel._cli.tool_options import SourceChoice
    from toolreel._replay import Keeping
    from toolreel.cassette import Mode
    from toolreel.durable import DurableRuns

secrets_option = click.option(
    "--secrets",
    "secret_rules",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="TOML file with rules for detecting secrets (allow, variables, patterns, emails); by default the "
    "file in TOOLREEL_SECRETS.",
)


def rules_of(path: Path | None) -> SecretRules:
    """The rules for a command: those in the file, else those of the environment.

    :raises SecretRulesError: if the file cannot be used
    """
    return rules_in() if path is None else read_rules(path)


durable_option = click.option(
    "--durable",
    is_flag=True,
    help="Survive power loss: fsync each event before the run continues.",
)

mode_option = click.option(
    "--mode",
    type=click.Choice(("replay", "record", "auto", "extend")),
    help="What to do if the recording exists. replay: use it, never the server. record: run live, and "
    "replace it if the run completes. auto: replay it, or record it if it is missing. extend: replay it, "
    "continue live after its end, and save it if the run completes. Without --mode it is an error.",
)


def keeping_of(mode: Mode | None, cassette: Path | None, *, overwrite: bool) -> Keeping | Path:
    """How a run treats an existing recording; a path means that it is replayed.

    :raises click.UsageError: if the options contradict each other
    """
    if mode is None:
        return "overwrite" if overwrite else "new"
    if cassette is None:
        raise click.UsageError(f"--mode {mode} needs a recording: --record NAME")
    if overwrite:
        raise click.UsageError(f"--overwrite and --mode {mode} contradict each other: give one of them")
    exists = cassette.exists() or companion(cassette).exists()
    if mode == "replay" or (mode == "auto" and exists):
        return cassette
    return "extend" if mode == "extend" else "record"


def cassette_path(name: str | None) -> Path | None:
    """The path of the cassette for ``--record NAME``."""
    if name is None:
        return None
    path = Path(name.removesuffix(".yaml") + ".yaml")
    if path.name == ".yaml":
        raise click.BadParameter(
            f"{name!r} names no file; expected a path such as cassettes/notes/local--qwen",
            param_hint="--record",
        )
    return path


def resumed_path(file: Path) -> Path:
    """The path of a run's cassette (which may not exist), from its name, its cassette or its journal.

    >>> resumed_path(Path("runs/chat.journal.jsonl.part")).name
    'chat.yaml'
    """
    name = file.name.removesuffix(".part").removesuffix(".journal.jsonl").removesuffix(".yaml")
    return file.with_name(f"{name}.yaml")


attach_option = click.option(
    "--attach",
    "attached",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    multiple=True,
    callback=choices("attach", attach),
    help="Send a picture, sound or file with the prompt. Repeatable.",
)


def _read_output_spec(
    context: click.Context, parameter: click.Parameter, path: Path | None
) -> OutputSpec | None:
    if path is None:
        return None
    try:
        tree = either(read(path.read_text(encoding="utf-8-sig")))
        if isinstance(tree, dict):
            return OutputSpec.of(tree)
    except (OSError, UnicodeDecodeError, ConfigError) as error:
        raise click.BadParameter(f"{path}: {error}", context, parameter) from None
    why = tree if isinstance(tree, str) else "expected a JSON object"
    raise click.BadParameter(f"{path} is not a JSON Schema: {why}", context, parameter)


output_schema_option = click.option(
    "--output-schema",
    "output",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    callback=_read_output_spec,
    help="JSON Schema of the final answer: it is validated, and the model is asked again if it does not fit "
    "(output_retries). --set output_mode=tool, text or native says how it is asked for.",
)


@dataclass(frozen=True, slots=True)
class PlanChoice:
    """The values of the options."""

    allow: tuple[str, ...]
    deny: tuple[str, ...]
    system: str | None
    presets: PresetChoice
    settings: tuple[str, ...]
    attached: tuple[Media, ...] = ()
    output: OutputSpec | None = None

    def plan(
        self,
        model: str,
        prompt: str,
        available: Sources,
        fallbacks: Iterable[FallbackChoice],
    ) -> Plan:
        """The plan of a run with these tools.

        :raises ConfigError: if the options contradict each other
        """
        chosen, text = parse_settings(self.settings), available.system_message(self.system)
        user = user_message([prompt, *self.attached])
        plan = self.presets.preset(model).plan(
            model=model,
            messages=[SystemMessage(text), user] if text else [user],
            tools=available.surface(self.allow, self.deny),
            options=chosen.options,
            settings={**chosen.config, **chosen.provider},
            output=self.output,
        )
        return with_fallbacks(plan, fallbacks, self.presets.catalogues)


_SETTINGS_HELP: Final = (
    "Set a loop setting (max_turns=5), a provider setting (id_style=openai), a request option "
    "(temperature=0) or any other key of the request body (body.cache_prompt=false). Repeatable."
)


def plan_options(
    settings: str = _SETTINGS_HELP,
    system: str = "System message.",
    *,
    attach: bool = True,
    output: bool = True,
) -> Callable[[Command], Command]:
    """The options for a plan; the command receives them as one argument ``wanted``.

    :param settings: the help of ``--set``
    :param attach: whether files can be sent along
    :param output: whether the final answer may have a schema
    """
    return bundle(
        "wanted",
        PlanChoice,
        allow_option,
        deny_option,
        click.option("--system", metavar="TEXT", help=system),
        *([attach_option] if attach else []),
        preset_options,
        *([output_schema_option] if output else []),
        settings_option(settings),
    )


Approval: TypeAlias = Literal["ask", "always", "never"]
_APPROVALS: Final[tuple[Approval, ...]] = ("ask", "always", "never")

approve_option = click.option(
    "--approve",
    type=click.Choice(_APPROVALS),
    default="ask",
    show_default=True,
    help="Who approves calls of tools that need approval: ask prompts you at the terminal (without one, "
    "the call is denied), always and never decide without a prompt.",
)


@dataclass(frozen=True, slots=True)
class TerminalApprover:
    """Shows the call and asks for a yes or no at the terminal."""

    progress: RunProgress

    def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        """The answer of the person at the terminal."""
        with self.progress.paused():
            err.print(printable(f"{effect.name}({effect.arguments})"), style="bold")
            try:
                approved = click.confirm("Run it?", err=True)
            except click.Abort:
                # click raises Abort for Ctrl-C and for the end of input alike: both cancel the run.
                raise KeyboardInterrupt from None
        return ApprovalGiven(effect.ref, approved, "" if approved else "the user said no")


@contextmanager
def live_session(
    server: LiveTarget,
    sources: SourceChoice,
    approve: Approval,
    *,
    durable: bool = False,
    absent: Approver | None = None,
) -> Generator[tuple[LiveSession, Sources]]:
    """A session that shows its progress, and the tools of all sources; others print to stderr meanwhile.

    :param absent: who decides with ``--approve ask`` and no terminal; by default the call is denied
    """
    from toolreel._cli.progress import RunProgress

    progress = RunProgress()
    with redirect_stdout(sys.stderr), progress, sources.open(progress.show_mcp_event) as available:
        yield session_with(progress, server, available, approve, durable=durable, absent=absent), available


def session_with(
    progress: RunProgress,
    server: LiveTarget,
    available: Sources,
    approve: Approval,
    *,
    durable: bool,
    absent: Approver | None = None,
) -> LiveSession:
    """A session with these tools."""
    from toolreel._cli.live_run import LiveSession

    target = replace(server, withheld=available.secrets)
    withhold(target.secrets)
    asking = TerminalApprover(progress) if sys.stdin.isatty() else absent
    approvers: dict[Approval, Approver] = {
        "ask": asking or Never("nobody was there to approve it"),
        "always": Always(),
        "never": Never(""),
    }
    return LiveSession(
        target, available.tools, available.hosts, approvers[approve], durable=durable, progress=progress
    )


def prompt_text(prompt: str) -> str:
    """The prompt; ``-`` reads stdin, without the line break at its end."""
    try:
        text = sys.stdin.buffer.read().decode().rstrip("\r\n") if prompt == "-" else prompt
    except UnicodeDecodeError as error:
        raise click.BadParameter(f"stdin is not UTF-8 at byte {error.start}", param_hint="PROMPT") from None
    if not text.strip():
        raise click.BadParameter("it is empty; write what you want from the model", param_hint="PROMPT")
    return text


database_option = click.option(
    "--database",
    metavar="URL",
    help="Where the runs are: sqlite:///FILE or postgresql://USER@HOST/NAME; by default what the environment "
    "variable TOOLREEL_DATABASE_URL says, else sqlite:///toolreel.db.",
)
queue_option = click.option(
    "--queue",
    cls=SharedOption,
    default="toolreel",
    show_default=True,
    metavar="NAME",
    help="The queue of runs and workers: those with other tools or another server have queues of their own.",
)
run_id_option = click.option(
    "--run-id",
    metavar="ID",
    help="Make the run durable under this id, in --database: killed, the same command goes on where it was. "
    "Needs the extra durable.",
)


def opened_runs(database: str | None) -> DurableRuns:
    """The runs in a database.

    :raises MissingExtra: if DBOS is not installed
    :raises DurableError: if the database cannot be used
    """
    from toolreel.durable import DurableRuns

    return DurableRuns(database)
