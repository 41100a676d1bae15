"""The tools of a command, from ``--tools``, ``--mcp``, ``--skills`` and ``--openapi`` combined."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import click

from toolreel._cli.options.mcp import mcp_option, mcp_tools, save_pins
from toolreel._cli.options.openapi import OpenApiChoice, openapi_options, openapi_tools
from toolreel._cli.options.option_bundle import bundle
from toolreel._cli.options.skills import SkillChoice, skill_options
from toolreel._cli.options.tools import tools_option
from toolreel._cli.output.console import withhold
from toolreel._driver.ports import ToolHost
from toolreel.tools._python.host import Toolbox
from toolreel.tools._python.named_tools import load_tools
from toolreel.tools._python.tool import ToolLike
from toolreel.tools.mcp._server_events import McpListener
from toolreel_core._tools.masking import masked
from toolreel_core._tools.surface import ToolSurface
from toolreel_core._tools.tool_definition import ToolDefinition

_REMOTE_PREFIXES: Final = ("mcp_", "openapi_")
"""Prefixes of the names of tools that servers run."""


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
    openapi: OpenApiChoice

    @property
    def any_named(self) -> bool:
        """Whether any source was named."""
        return bool(self.tool_names or self.mcp_file or self.skills.folders or self.openapi.file)

    @contextmanager
    def open(self, listen: McpListener | None = None, *, accept: bool = False) -> Generator[Sources]:
        """Open all sources; close them when the context exits.

        :param accept: offer all tools of MCP servers as they are now, and write their pins
        :raises AdapterError: if a source cannot be used
        """
        python = self._python()
        with ExitStack() as stack:
            mcp = stack.enter_context(mcp_tools(self.mcp_file, listen, accept=accept))
            api = stack.enter_context(openapi_tools(self.openapi))
            withhold(api.secrets)
            others = (*mcp.definitions, *api.definitions)
            yield Sources(python.tools, others, {**mcp.hosts, **api.hosts}, api.secrets, python.message)
            save_pins(self.mcp_file, mcp, accept=accept)

    def recorded(self, definitions: Iterable[ToolDefinition]) -> Sources:
        """The sources for a replay: tools of servers come from the recording, so no server is started.

        :raises AdapterError: if a source cannot be read
        """
        python = self._python()
        if not (self.mcp_file or self.openapi.file):
            return python
        others = tuple(tool for tool in definitions if tool.name.startswith(_REMOTE_PREFIXES))
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
    openapi_options,
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
