"""The tools of a command, from ``--tools``, ``--mcp`` and ``--skills`` combined."""

from __future__ import annotations

import shlex
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click

from toolreel._cli.console import counted, err, printable
from toolreel._cli.options import bundle, tools_option
from toolreel._driver.ports import ToolHost
from toolreel.tools._python.host import Toolbox
from toolreel.tools._python.tool import ToolLike, load_tools
from toolreel.tools.mcp._config_file import read_mcp_servers
from toolreel.tools.mcp._server_events import McpListener
from toolreel_core._tools.masking import masked
from toolreel_core._tools.surface import ToolSurface
from toolreel_core._tools.tool_definition import ToolDefinition

mcp_option = click.option(
    "--mcp",
    "mcp_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Configuration of MCP servers, in the mcpServers JSON of other clients. Their tools are named "
    "mcp_SERVER_TOOL.",
)
accept_option = click.option(
    "--accept",
    is_flag=True,
    help="Accept the current definitions of the MCP tools. Their fingerprints are kept next to FILE in "
    ".pins.json; from then on, new and changed tools are left out until you accept them.",
)


@dataclass(frozen=True, slots=True)
class McpToolset:
    """The tools of MCP servers, and the host that runs them."""

    definitions: tuple[ToolDefinition, ...] = ()
    hosts: Mapping[str, ToolHost] = field(default_factory=dict)
    """Tool hosts by the prefix of the tool names that they run."""


@contextmanager
def mcp_tools(
    file: Path | None, listen: McpListener | None = None, *, accept: bool = False
) -> Generator[McpToolset]:
    """Start the servers of a configuration file; end them when the context exits.

    :param accept: offer all tools, whether they were accepted before or not
    :raises AdapterError: if the file cannot be used, or a server cannot be started
    """
    if file is None:
        yield McpToolset()
        return
    servers = read_mcp_servers(file)
    import logging  # imported here because --help does not need it

    from toolreel.tools.mcp._definitions import MCP_PREFIX
    from toolreel.tools.mcp._host import McpTools
    from toolreel.tools.mcp._pins import pins_beside, read_pins

    # The SDK logs problems through the root logger, which would print them to stderr. Those that matter
    # reach the user as an error or as an event.
    logging.getLogger().addHandler(logging.NullHandler())
    pins = None if accept else read_pins(pins_beside(file))
    with McpTools(servers, pins=pins, listen=listen) as tools:
        for each in tools.left_out:
            remedy = f"; {each.remedy}: toolreel tools --mcp {shlex.quote(str(file))} --accept" * bool(
                each.remedy
            )
            err.print(printable(f"left out    {each.name}: {each.why}{remedy}"), style="yellow")
        yield McpToolset(tools.surface.definitions, {f"{MCP_PREFIX}_": tools})


def save_pins(file: Path | None, toolset: McpToolset, *, accept: bool) -> None:
    """Write the pins of the tools, if ``--accept`` was given.

    :raises click.UsageError: if ``--accept`` was given without ``--mcp``
    """
    if not accept:
        return
    if file is None:
        raise click.UsageError("--accept needs --mcp FILE: it accepts the definitions of MCP tools")
    from toolreel.tools.mcp._pins import pins_beside, pins_of, write_pins

    pins = pins_beside(file)
    write_pins(pins, pins_of(ToolSurface(toolset.definitions)))
    err.print(printable(f"accepted    {counted(len(toolset.definitions), 'tool')}, kept in {pins}"))


@dataclass(frozen=True, slots=True)
class ChosenSkills:
    """The skills of a run."""

    tools: tuple[ToolLike, ...] = ()
    message: str = ""
    """Their names and descriptions for the system message; empty if there are no skills."""


@dataclass(frozen=True, slots=True)
class SkillChoice:
    """The values of the ``--skills`` options."""

    folders: tuple[str, ...]
    scripts: tuple[str, ...]
    """Patterns of the scripts that are allowed."""
    skip_invalid: bool

    def read(self) -> ChosenSkills:
        """Read the chosen skills; warn about those left out.

        :raises AdapterError: if one cannot be used
        """
        if not self.folders:
            if self.scripts:
                raise click.UsageError("--skills-allow-script needs --skills FOLDER")
            return ChosenSkills()
        from toolreel.tools.skills._folders import read_skills
        from toolreel.tools.skills._skill_tools import skill_tools, skills_message

        skills = read_skills(*self.folders, skip_invalid=self.skip_invalid)
        for problem in skills.left_out:
            err.print(printable(f"left out    {problem}"), style="yellow")
        return ChosenSkills(tuple(skill_tools(skills, allow_scripts=self.scripts)), skills_message(skills))


skill_options = bundle(
    "skills",
    SkillChoice,
    click.option(
        "--skills",
        "folders",
        multiple=True,
        metavar="FOLDER",
        help="Folder of an Agent Skill (it has a SKILL.md), or of several. Repeatable.",
    ),
    click.option(
        "--skills-allow-script",
        "scripts",
        multiple=True,
        metavar="SKILL/FILE",
        help="Allow the model to run a script of a skill, such as pdf-forms/scripts/*.py; each call needs "
        "approval. By default no script is allowed. Repeatable.",
    ),
    click.option(
        "--skills-skip-invalid",
        "skip_invalid",
        is_flag=True,
        help="Warn about invalid skills and leave them out, instead of stopping.",
    ),
)
"""Adds the ``--skills`` options to a command, which receives them as one argument ``skills``."""


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
    skills: SkillChoice

    @property
    def any_named(self) -> bool:
        """Whether any source was named."""
        return bool(self.tool_names or self.mcp_file or self.skills.folders)

    @contextmanager
    def open(self, listen: McpListener | None = None, *, accept: bool = False) -> Generator[Sources]:
        """Open all sources; close them when the context exits.

        :param accept: offer all tools of MCP servers as they are now, and write their pins
        :raises AdapterError: if a source cannot be used
        """
        python = self._python()
        with ExitStack() as stack:
            mcp = stack.enter_context(mcp_tools(self.mcp_file, listen, accept=accept))
            yield Sources(python.tools, mcp.definitions, mcp.hosts, message=python.message)
            save_pins(self.mcp_file, mcp, accept=accept)

    def recorded(self, definitions: Iterable[ToolDefinition]) -> Sources:
        """The sources for a replay: tools of servers come from the recording, so no server is started.

        :raises AdapterError: if a source cannot be read
        """
        python = self._python()
        if not self.mcp_file:
            return python
        others = tuple(tool for tool in definitions if tool.name.startswith("mcp_"))
        return Sources(python.tools, others, message=python.message)

    def _python(self) -> Sources:
        skills = self.skills.read()
        return Sources((*load_tools(self.tool_names), *skills.tools), message=skills.message)


source_options = bundle(
    "sources",
    SourceChoice,
    tools_option(
        "Typed Python function, a list of functions, or a PythonTools, such as my_tools:TOOLS. Repeatable."
    ),
    mcp_option,
    skill_options,
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
