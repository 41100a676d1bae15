"""Where a command's tools come from: ``--tools``, ``--mcp``, ``--skills``, ``--openapi``, in any mixture."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Final

import click

from toolreel._cli.options.mcp import mcp_option, mcp_tools, save_pins
from toolreel._cli.options.openapi import OpenApiChoice, openapi_options, openapi_tools
from toolreel._cli.options.skills import SkillChoice, skill_options
from toolreel._driver.ports import ToolHost
from toolreel.tools._python.host import Toolbox, ToolLike
from toolreel.tools._python.loading import load_tools
from toolreel.tools.mcp._events import McpListener
from toolreel_core._tools.sources import masked
from toolreel_core._tools.surface import ToolDefinition, ToolSurface

__all__ = ["SourceChoice", "Sources", "source_options"]

_ELSEWHERE: Final = ("mcp_", "openapi_")
"""How the names of tools begin that servers run."""

_tools_option = click.option(
    "--tools",
    "tool_names",
    multiple=True,
    metavar="MODULE:ATTR",
    help="A typed Python function or a list of them, for example my_tools:TOOLS; may be repeated.",
)


@dataclass(frozen=True, slots=True)
class Sources:
    """What the sources offer, and who runs it."""

    tools: Sequence[ToolLike] = ()
    others: tuple[ToolDefinition, ...] = ()
    """What is not run by Python, but by these:"""
    hosts: Mapping[str, ToolHost] = field(default_factory=dict)
    """By the prefix of the names of their tools."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Credentials of the servers, by their names; no record may hold them."""
    told: str = ""
    """What the model is told of them from the start."""

    def surface(self, allow: Sequence[str], deny: Sequence[str]) -> ToolSurface:
        """One surface out of all of it, less what is masked.

        :raises ConfigError: if two share a name, or a mask means no tool
        """
        whole = ToolSurface((*Toolbox(self.tools).surface.definitions, *self.others))
        return masked(whole, allow=allow or None, deny=deny)

    def after(self, system: str | None) -> str:
        """The system message of a run: what the user gives, and then what is told of the tools."""
        return "\n\n".join(text for text in (system, self.told) if text)


@dataclass(frozen=True, slots=True)
class SourceChoice:
    """What the options say."""

    tool_names: tuple[str, ...]
    mcp_file: Path | None
    skills: SkillChoice
    openapi: OpenApiChoice

    @property
    def made(self) -> bool:
        """Whether any source was named."""
        return bool(self.tool_names or self.mcp_file or self.skills.folders or self.openapi.file)

    @contextmanager
    def open(self, listen: McpListener | None = None, *, accept: bool = False) -> Generator[Sources]:
        """All sources, until the context is left.

        :param accept: offer all tools of MCP servers as they are now, and keep that as accepted
        :raises AdapterError: if a source cannot be used
        """
        python = self._python()
        with ExitStack() as stack:
            mcp = stack.enter_context(mcp_tools(self.mcp_file, listen, accept=accept))
            api = stack.enter_context(openapi_tools(self.openapi))
            others = (*mcp.definitions, *api.definitions)
            yield Sources(python.tools, others, {**mcp.hosts, **api.hosts}, api.secrets, python.told)
            save_pins(self.mcp_file, mcp, accept=accept)

    def recorded(self, were: Iterable[ToolDefinition]) -> Sources:
        """The sources as they were when a run was recorded: what servers offered needs none to be replayed.

        :param were: the tools of that run
        :raises AdapterError: if a source cannot be read
        """
        python = self._python()
        if not (self.mcp_file or self.openapi.file):
            return python
        others = tuple(tool for tool in were if tool.name.startswith(_ELSEWHERE))
        return Sources(python.tools, others, told=python.told)

    def _python(self) -> Sources:
        skills = self.skills.read()
        return Sources((*load_tools(self.tool_names), *skills.tools), told=skills.message)


def source_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a command that takes tools, which it gets as ``sources``, a :class:`SourceChoice`."""

    @wraps(command)
    def choosing(
        *,
        tool_names: tuple[str, ...],
        mcp_file: Path | None,
        skills: SkillChoice,
        openapi: OpenApiChoice,
        **others: object,
    ) -> None:
        command(sources=SourceChoice(tool_names, mcp_file, skills, openapi), **others)

    return _tools_option(mcp_option(skill_options(openapi_options(choosing))))
