"""Tools of a run: the options that choose them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolreel._cli.console import err, labelled, out, printable, show_columns
from toolreel._cli.errors import EPILOG, SharedOption, reporting
from toolreel._cli.options import bundle, tools_option
from toolreel._driver import ToolHost
from toolreel._internal import counted
from toolreel.tools import Toolbox, ToolLike, load_tools
from toolreel.tools.mcp import read_mcp_servers
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import ToolDefinition, ToolSurface, check_surface, largest, masked, shares

if TYPE_CHECKING:  # where --mcp is not given, a command does without the extra
    from toolreel.tools.mcp import McpListener

# The tools of a command, from ``--tools``, ``--mcp`` and ``--skills`` combined.


@dataclass(frozen=True, slots=True)
class Sources:
    """The tools of all sources, and the hosts that run them."""

    tools: Sequence[ToolLike] = ()
    others: tuple[ToolDefinition, ...] = ()
    """Tools that servers run, through ``hosts``."""
    hosts: Mapping[str, ToolHost] = field(default_factory=dict)
    """Tool hosts by the prefix of the tool names that they run."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Credentials of the servers by name, to keep out of recordings."""
    message: str = ""
    """Names and descriptions of skills for the system message."""

    def surface(self, allow: Sequence[str], deny: Sequence[str]) -> ToolSurface:
        """The surface of all tools, without the masked ones.

        :raises ConfigError: if two share a name, or a mask means no tool
        """
        whole = ToolSurface((*Toolbox(self.tools).surface.definitions, *self.others))
        return masked(whole, allow=allow or None, deny=deny)

    def system_message(self, system: str | None) -> str:
        """The system message of a run: the user's text, then the message about skills."""
        return "\n\n".join(text for text in (system, self.message) if text)


@dataclass(frozen=True, slots=True)
class SourceChoice:
    """The values of the options that name tools."""

    tool_names: tuple[str, ...]
    mcp_file: Path | None
    skill_folders: tuple[str, ...]
    skill_scripts: tuple[str, ...]
    """Patterns of the scripts that are allowed."""
    skip_invalid_skills: bool

    @property
    def any_named(self) -> bool:
        """Whether any source was named."""
        return bool(self.tool_names or self.mcp_file or self.skill_folders)

    @contextmanager
    def open(
        self, listen: McpListener | None = None, *, accept: bool = False, strict: bool = False
    ) -> Generator[Sources]:
        """Read all sources, and start the MCP servers; end them when the context exits.

        :param accept: offer all tools of MCP servers as they are now, and write their pins
        :param strict: skills that do not follow the specification are errors
        :raises AdapterError: if a source cannot be used
        """
        tools, message = self._python_tools(strict=strict)
        file = self.mcp_file
        if file is None:
            if accept:
                raise click.UsageError("--accept needs --mcp FILE: it accepts the definitions of MCP tools")
            yield Sources(tools, message=message)
            return
        servers = read_mcp_servers(file)
        import logging  # imported here because --help does not need them

        from toolreel.tools.mcp import MCP_PREFIX, McpTools, pins_beside, pins_of, read_pins, write_pins

        # The SDK logs problems through the root logger, which would print them to stderr. Those that matter
        # reach the user as an error or as an event.
        logging.getLogger().addHandler(logging.NullHandler())
        pins = pins_beside(file)
        with McpTools(servers, pins=None if accept else read_pins(pins), listen=listen) as mcp:
            for each in mcp.left_out:
                again = f"toolreel tools --mcp {shlex.quote(str(file))} --accept"
                remedy = f"; {each.remedy}: {again}" if each.remedy else ""
                err.print(printable(f"left out    {each.name}: {each.why}{remedy}"), style="yellow")
            definitions = mcp.surface.definitions
            for tool in definitions:
                for part in tool.left_out:
                    err.print(printable(f"left out    {tool.name}: {part}"), style="yellow")
            yield Sources(tools, definitions, {f"{MCP_PREFIX}_": mcp}, mcp.secrets, message=message)
            if accept:
                write_pins(pins, pins_of(ToolSurface(definitions)))
                err.print(printable(f"accepted    {counted(len(definitions), 'tool')}, kept in {pins}"))

    def recorded(self, definitions: Iterable[ToolDefinition]) -> Sources:
        """The sources for a replay: tools of servers come from the recording, so no server is started.

        :raises AdapterError: if a source cannot be read
        """
        tools, message = self._python_tools()
        if not self.mcp_file:
            return Sources(tools, message=message)
        return Sources(
            tools, tuple(tool for tool in definitions if tool.name.startswith("mcp_")), message=message
        )

    def _python_tools(self, *, strict: bool = False) -> tuple[Sequence[ToolLike], str]:
        """The tools of modules and of skills, and the message about the skills."""
        if not self.skill_folders:
            if self.skill_scripts:
                raise click.UsageError("--skills-allow-script needs --skills FOLDER")
            return load_tools(self.tool_names), ""
        from toolreel.tools.skills import read_skills, skill_tools, skills_message

        skills = read_skills(*self.skill_folders, skip_invalid=self.skip_invalid_skills, strict=strict)
        for problem in skills.warnings:
            err.print(printable(f"warning     {problem}"), style="yellow")
        for problem in skills.left_out:
            err.print(printable(f"left out    {problem}"), style="yellow")
        own = skill_tools(skills, allow_scripts=self.skill_scripts)
        return (*load_tools(self.tool_names), *own), skills_message(skills)


source_options = bundle(
    "sources",
    SourceChoice,
    tools_option(
        "Typed Python function, a list of functions, or a PythonTools, such as my_tools:TOOLS. Repeatable."
    ),
    click.option(
        "--mcp",
        "mcp_file",
        cls=SharedOption,
        type=click.Path(path_type=Path),
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
    click.option(
        "--skills-skip-invalid",
        "skip_invalid_skills",
        is_flag=True,
        help="Warn about invalid skills and leave them out, instead of stopping.",
    ),
)
"""Adds the options that name tools to a command, which receives them as one argument ``sources``."""

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


@click.command("tools", epilog=EPILOG)
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
@click.option(
    "--by-size", is_flag=True, help="Show only tools that are sent to the model, the largest first."
)
@allow_option
@deny_option
@reporting
def tools_command(
    sources: SourceChoice,
    accept: bool,
    check: bool,
    by_size: bool,
    allow: tuple[str, ...],
    deny: tuple[str, ...],
) -> int:
    """Show the tools of a run: their names, sources, flags, and sizes in the request.

    Use it to check what the model will see before you run a loop, to find the largest definitions, and
    to accept the tools of MCP servers. Exits with 2 if the tools exceed the limits of a run.

    \b
    toolreel tools --tools toolreel.demo:TOOLS --deny "*_patch"
    toolreel tools --mcp mcp.json --accept
    """
    if not sources.any_named:
        known = "--tools MODULE:ATTR, --skills FOLDER, or --mcp FILE"
        raise click.UsageError(f"name the source of the tools: {known}")
    with redirect_stdout(sys.stderr), sources.open(accept=accept, strict=check) as available:
        surface = available.surface(allow, deny)
    _show_surface(surface, by_size=by_size)
    check_surface(surface, LoopConfig())
    return 0


def _show_surface(surface: ToolSurface, *, by_size: bool) -> None:
    rows = [
        (
            tool.name if tool.name == tool.outward else f"{tool.name} ({tool.outward})",
            str(tool.size),
            ", ".join(_tool_flags(tool)) or "-",
            "-" if tool.deadline_ms is None else f"{tool.deadline_ms} ms",
            tool.source,
        )
        for tool in (largest(surface) if by_size else surface.definitions)
    ]
    if surface.definitions:
        show_columns(out, ("tool", "bytes", "flags", "deadline", "source"), rows)
    if surface.masked:
        labelled(out, "masked", ", ".join(surface.masked))
    limits = LoopConfig()
    labelled(out, "sent", f"{len(surface.names)} of at most {limits.max_tool_definitions_count} tools")
    labelled(out, "", f"{surface.size} of at most {limits.max_tool_definitions_bytes} bytes")
    sources = shares(surface)
    for number, share in enumerate(sources if len(sources) > 1 else ()):
        labelled(out, "" if number else "most from", str(share))
    labelled(out, "fingerprint", surface.fingerprint)


def _tool_flags(tool: ToolDefinition) -> list[str]:
    flags = {
        "read-only": tool.read_only,
        "polling": tool.polling,
        "approval": tool.needs_approval,
        "hidden": not tool.exposed,
        "idempotent": tool.idempotent,
        f"args at most {tool.max_args_bytes} bytes": tool.max_args_bytes is not None,
        f"output at most {tool.max_output_bytes} bytes": tool.max_output_bytes is not None,
    }
    return [name for name, is_set in flags.items() if is_set]
