"""A run: its tools, its plan, its recording, its driver, and who approves calls; and ``toolreel tools``."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

import click

from toolreel._agent import AgentTools, Fallback, OfferedTools
from toolreel._cli.console import err, print_labelled, show_columns, withhold_secrets
from toolreel._cli.errors import SharedOption, command
from toolreel._cli.options import (
    FILE_PATH,
    Decorator,
    LiveTarget,
    PresetChoice,
    SetOptions,
    Texts,
    bundle_options,
    plan_with_fallbacks,
    preset_options,
    settings_option,
    tools_option,
)
from toolreel._cli.progress import RunProgress
from toolreel._driver import Always, Approver, Never
from toolreel._internal import count_with_noun
from toolreel._journal import cassette_path
from toolreel.tools import load_tools
from toolreel.tools.mcp import read_mcp_servers
from toolreel_core._conversation import SystemMessage, UserMessage
from toolreel_core._plan import Plan
from toolreel_core._protocol import ApprovalGiven, AskApproval
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import ToolDefinition, ToolSurface, check_surface, masked

if TYPE_CHECKING:
    from toolreel._cli.live_run import LiveSession
    from toolreel.durable import DurableRuns
    from toolreel.tools.mcp import McpListener, McpTools


class Sources(NamedTuple):
    tools: AgentTools = ()
    message: str = ""
    secrets: Mapping[str, str] = {}

    def surface(self, allow: Sequence[str] = (), deny: Sequence[str] = ()) -> ToolSurface:
        return masked(OfferedTools.of(self.tools).surface, allow=allow or None, deny=deny)


@dataclass(frozen=True, slots=True)
class SourceChoice:
    tool_names: Texts
    mcp_file: Path | None
    skill_folders: Texts
    skill_scripts: Texts

    @property
    def has_named_sources(self) -> bool:
        return bool(self.tool_names or self.mcp_file or self.skill_folders)

    @contextmanager
    def open(
        self, listen: McpListener | None = None, *, accept: bool = False, strict: bool = False
    ) -> Generator[Sources]:
        """MCP servers run until the context exits; ``accept`` pins their tools as they are now.

        :param accept: offer all tools of MCP servers as they are now, and write their pins
        :param strict: skills that do not follow the specification are errors
        """
        tools, message = load_tools(self.tool_names), ""
        if self.skill_scripts and not self.skill_folders:
            raise click.UsageError("--skills-allow-script needs --skills FOLDER")
        if self.skill_folders:
            from toolreel.tools.skills import read_skills, skill_tools, skills_message

            skills = read_skills(*self.skill_folders, strict=strict)
            for problem in skills.warnings:
                err.print(f"warning     {problem}", style="yellow")
            tools += skill_tools(skills, allow_scripts=self.skill_scripts)
            message = skills_message(skills)
        if file := self.mcp_file:
            with _open_mcp_tools(file, listen, accept=accept) as mcp:
                offered = [mcp] if mcp.surface.definitions else []
                yield Sources([*tools, *offered], message, mcp.secrets)
        elif accept:
            raise click.UsageError("--accept needs --mcp FILE: it accepts the definitions of MCP tools")
        else:
            yield Sources(tools, message)


@contextmanager
def _open_mcp_tools(file: Path, listen: McpListener | None, *, accept: bool) -> Generator[McpTools]:
    """The tools of the servers in a configuration; says which are left out, and writes what is accepted."""
    servers = read_mcp_servers(file)
    import logging  # imported here because --help does not need them

    from toolreel.tools.mcp import McpTools, pins_beside, pins_of, read_pins, write_pins

    # The SDK logs problems through the root logger, which would print them to stderr. Those that matter
    # reach the user as an error or as an event.
    logging.getLogger().addHandler(logging.NullHandler())
    pins = pins_beside(file)
    with McpTools(servers, pins=None if accept else read_pins(pins), listen=listen) as mcp:
        for name, why in mcp.left_out.items():
            err.print(f"left out    {name}: {why}", style="yellow")
        definitions = mcp.surface.definitions
        for tool in definitions:
            for part in tool.left_out:
                err.print(f"left out    {tool.name}: {part}", style="yellow")
        yield mcp
        if accept:
            write_pins(pins, pins_of(ToolSurface(definitions)))
            err.print(f"accepted    {count_with_noun(len(definitions), 'tool')}, kept in {pins}")


source_options = bundle_options(
    "sources",
    SourceChoice,
    tools_option(
        "Typed Python function, a list of functions, or a PythonTools, such as my_tools:TOOLS. Repeatable."
    ),
    click.option(
        "--mcp",
        "mcp_file",
        cls=SharedOption,
        type=FILE_PATH,
        metavar="FILE",
        help="Configuration of MCP servers, in the mcpServers JSON of other clients. Their tools are named "
        "mcp_SERVER_TOOL.",
    ),
    click.option(
        "--skills",
        "skill_folders",
        cls=SharedOption,
        multiple=True,
        metavar="FOLDER",
        help="Folder of an Agent Skill (it has a SKILL.md), or of several. Repeatable.",
    ),
    click.option(
        "--skills-allow-script",
        "skill_scripts",
        multiple=True,
        metavar="SKILL/FILE",
        help="Allow the model to run a script of a skill, such as pdf-forms/scripts/*.py; each call needs "
        "approval. By default no script is allowed. Repeatable.",
    ),
)

allow_option = click.option(
    "--allow",
    multiple=True,
    metavar="NAME",
    help="Offer only these tools; * matches any text. Repeatable.",
)
deny_option = click.option(
    "--deny",
    multiple=True,
    metavar="NAME",
    help="Never offer these tools, even if --allow matches; * matches any text. Repeatable.",
)


# ``toolreel tools``: show the tools of a run.


@command("tools")
@source_options
@click.option(
    "--accept",
    is_flag=True,
    help="Accept the current definitions of the MCP tools. Their fingerprints are kept next to FILE in "
    ".pins.json; from then on, new and changed tools are left out until you accept them.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Read skills strictly: what does not follow the specification is an error, instead of a warning.",
)
@allow_option
@deny_option
def tools_command(
    sources: SourceChoice,
    accept: bool,
    check: bool,
    allow: Texts,
    deny: Texts,
) -> int:
    """Show the tools of a run: their names, sources, flags, and sizes in the request.

    Use it to check what the model will see before you run a loop, to find the largest definitions, and
    to accept the tools of MCP servers. Exits with 2 if the tools exceed the limits of a run.

    \b
    toolreel tools --tools toolreel.demo:TOOLS --deny "*_patch"
    toolreel tools --mcp mcp.json --accept
    """
    if not sources.has_named_sources:
        known = "--tools MODULE:ATTR, --skills FOLDER, or --mcp FILE"
        raise click.UsageError(f"name the source of the tools: {known}")
    with redirect_stdout(sys.stderr), sources.open(accept=accept, strict=check) as available:
        surface = available.surface(allow, deny)
    _show_tool_table(surface)
    check_surface(surface, LoopConfig())
    return 0


def _show_tool_table(surface: ToolSurface) -> None:
    rows = [
        (
            tool.name if tool.name == tool.outward else f"{tool.name} ({tool.outward})",
            str(tool.size),
            ", ".join(_tool_flags(tool)) or "-",
            "-" if tool.deadline_ms is None else f"{tool.deadline_ms} ms",
            tool.source,
        )
        for tool in surface.definitions
    ]
    if surface.definitions:
        show_columns(("tool", "bytes", "flags", "deadline", "source"), rows)
    if surface.masked:
        print_labelled("masked", ", ".join(surface.masked))
    limits = LoopConfig()
    print_labelled("sent", f"{len(surface.names)} of at most {limits.max_tool_definitions_count} tools")
    print_labelled("", f"{surface.size} of at most {limits.max_tool_definitions_bytes} bytes")
    print_labelled("fingerprint", surface.fingerprint)


def _tool_flags(tool: ToolDefinition) -> list[str]:
    flags = {
        "read-only": tool.read_only,
        "polling": tool.polling,
        "approval": tool.needs_approval,
        "hidden": not tool.exposed,
        "idempotent": tool.idempotent,
    }
    return [name for name, is_set in flags.items() if is_set]


durable_option = click.option(
    "--durable",
    is_flag=True,
    help="Survive power loss: fsync each event before the run continues.",
)


def cassette_path_from_name(name: str | None) -> Path | None:
    return None if name is None else cassette_path(name)


def cassette_path_of_run(file: Path) -> Path:
    """The path of a run's cassette (which may not exist), from its name, its cassette or its journal."""
    name = file.name.removesuffix(".part").removesuffix(".journal.jsonl").removesuffix(".yaml")
    return file.parent / f"{name}.yaml"


@dataclass(frozen=True, slots=True)
class PlanChoice:
    allow: Texts
    deny: Texts
    system: str | None
    presets: PresetChoice
    settings: SetOptions

    def make_plan(self, model: str, prompt: str, available: Sources, fallbacks: Iterable[Fallback]) -> Plan:
        text = "\n\n".join(filter(None, (self.system, available.message)))
        user = UserMessage(prompt)
        plan = self.presets.preset(model).plan(
            model=model,
            messages=[SystemMessage(text), user] if text else [user],
            tools=available.surface(self.allow, self.deny),
            options=self.settings.options,
            settings={**self.settings.config, **self.settings.provider},
        )
        return plan_with_fallbacks(plan, fallbacks)


_SETTINGS_HELP = (
    "Set a loop setting (max_turns=5), a provider setting (id_style=openai), a request option "
    "(temperature=0) or any other key of the request body (body.cache_prompt=false). Repeatable."
)


def plan_options(settings: str = _SETTINGS_HELP, system: str = "System message.") -> Decorator:
    return bundle_options(
        "wanted",
        PlanChoice,
        allow_option,
        deny_option,
        click.option("--system", metavar="TEXT", help=system),
        preset_options,
        settings_option(settings),
    )


Approval: TypeAlias = Literal["ask", "always", "never"]

approve_option = click.option(
    "--approve",
    type=click.Choice(get_args(Approval)),
    default="ask",
    help="Who approves calls of tools that need approval: ask prompts you at the terminal (without one, "
    "the call is denied), always and never decide without a prompt.",
)


@dataclass(frozen=True, slots=True)
class TerminalApprover:
    progress: RunProgress

    def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        with self.progress.pause_drawing():
            err.print(f"{effect.name}({effect.arguments})", style="bold")
            try:
                approved = click.confirm("Run it?", err=True)
            except click.Abort:
                # click raises Abort for Ctrl-C and for the end of input alike: both cancel the run.
                raise KeyboardInterrupt from None
        return ApprovalGiven(effect.ref, approved, "" if approved else "the user said no")


@contextmanager
def open_live_session(
    server: LiveTarget,
    sources: SourceChoice,
    approve: Approval,
    *,
    durable: bool = False,
    absent: Approver | None = None,
) -> Generator[tuple[LiveSession, Sources]]:
    """A session with these tools, which are open inside the block; importing them prints to stderr.

    :param absent: who decides with ``--approve ask`` and no terminal; by default the call is denied
    """
    from toolreel._cli.live_run import LiveSession

    progress = RunProgress()
    with ExitStack() as stack:
        with redirect_stdout(sys.stderr):
            available = stack.enter_context(sources.open(progress.show_mcp_event))
        target = replace(server, withheld=available.secrets)
        withhold_secrets(target.secrets)
        asking = TerminalApprover(progress) if sys.stdin.isatty() else absent
        approvers: dict[Approval, Approver] = {
            "ask": asking or Never("nobody was there to approve it"),
            "always": Always(),
            "never": Never(""),
        }
        session = LiveSession(target, available.tools, approvers[approve], durable=durable, progress=progress)
        yield session, available


def read_prompt(prompt: str) -> str:
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
    metavar="NAME",
    help="The queue of runs and workers: those with other tools or another server have queues of their own.",
)
run_id_option = click.option(
    "--run-id",
    metavar="ID",
    help="Make the run durable under this id, in --database: killed, the same command goes on where it was. "
    "Needs the extra durable.",
)


def open_durable_runs(database: str | None) -> DurableRuns:
    from toolreel.durable import DurableRuns

    return DurableRuns(database)
