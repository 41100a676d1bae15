"""A tool that is hidden from a run: never told of, and refused to all, whatever source it comes from.

The case study's regression guard is ``facts_commit``: it is defined, and the model may neither see
it nor run it, however it knows the name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import pytest

from tests.adapters.tools.skills.skills_here import write_skill
from tests.servers.chat_server import ChatServer, replying, serving
from tests.servers.mcp_servers_here import good
from toolreel._driver import Ports, ToolHost, run
from toolreel.http import HttpEndpoint
from toolreel.testing import ScriptedTools, calling, saying
from toolreel.tools import PythonTools, Router, Tool
from toolreel.tools.mcp import McpTools
from toolreel.tools.skills import read_skills, skill_tools
from toolreel_core._jsontext import Json
from toolreel_core._plan import Plan
from toolreel_core._protocol import CallRejected, Completed, RunTool, ToolReturned
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import ToolDefinition, ToolSource, ToolSurface, compose, masked, outward_name

HIDDEN = "facts_commit"
SEEN = "state_get"
ARGUMENTS: Mapping[str, Json] = {"request_id": "r", "proposal_id": "p", "text": "t", "reason": "w"}
FIELDS: Mapping[str, Json] = {name: {"type": "string"} for name in ARGUMENTS}
SCHEMA: Mapping[str, Json] = {"type": "object", "properties": FIELDS, "required": [*ARGUMENTS]}

Hiding: TypeAlias = Callable[[ToolSurface, str], ToolSurface]
"""Takes a tool, by its inner name, out of what a run may use."""


@dataclass(frozen=True, slots=True)
class Source:
    """Tools of some source, with their host."""

    definitions: tuple[ToolDefinition, ...]
    host: ToolHost
    seen: str = SEEN
    """How the name of a tool ends that takes no arguments and may be called."""
    hidden: str = HIDDEN
    """The same of the one that is hidden."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A host, and the names that it was asked to run."""

    host: ToolHost
    asked: list[str] = field(default_factory=list)

    def run(self, effect: RunTool) -> ToolReturned:
        self.asked.append(effect.name)
        return self.host.run(effect)


def state_get() -> dict[str, str]:
    """Get the state."""
    return {"state": "draft"}


def facts_commit(request_id: str, proposal_id: str, text: str, reason: str) -> None:
    """Commit a fact."""
    pytest.fail(f"a hidden tool was run: {request_id} {proposal_id} {text} {reason}")


@contextmanager
def python(prefix: str = "") -> Generator[Source]:
    """Typed Python functions."""
    tools = [Tool.of(each, name=f"{prefix}{each.__name__}") for each in (state_get, facts_commit)]
    host = PythonTools(tools)
    yield Source(host.surface.definitions, host)


@contextmanager
def raw(prefix: str = "") -> Generator[Source]:
    """JSON Schemas, with a host of the user's own; it would answer."""
    looking = ToolDefinition.of(f"{prefix}{SEEN}", "Get the state.")
    writing = ToolDefinition.of(f"{prefix}{HIDDEN}", "Commit a fact.", SCHEMA)
    host = ScriptedTools({f"{prefix}{SEEN}": [{"state": "draft"}] * 9, f"{prefix}{HIDDEN}": [None] * 9})
    yield Source((looking, writing), host)


@contextmanager
def composed() -> Generator[Source]:
    """Two sources in one surface, their hosts behind a router."""
    with python("ws.") as one, raw("web.") as other:
        surface = compose(ToolSource("ws", one.definitions), ToolSource("web", other.definitions[:1]))
        yield Source(surface.definitions, Router({"ws.": one.host}, default=other.host))


@contextmanager
def mcp() -> Generator[Source]:
    """The tools of an MCP server, which would end if the hidden one were called."""
    with McpTools([good()]) as tools:
        yield Source(tools.surface.definitions, tools, seen="_pid", hidden="_die")


@contextmanager
def skills() -> Generator[Source]:
    """Agent Skills; no file of theirs may be read."""
    with TemporaryDirectory() as folder:
        write_skill(Path(folder) / "pdf-forms")
        host = PythonTools(skill_tools(read_skills(folder)))
        yield Source(host.surface.definitions, host, seen="_list", hidden="_read_file")


SOURCES: Mapping[str, Callable[[], AbstractContextManager[Source]]] = {
    "python": python,
    "python with dots": partial(python, "ws."),
    "raw schema": raw,
    "composed and routed": composed,
    "mcp": mcp,
    "skills": skills,
}
"""One line a source: what opens it."""


def _others(surface: ToolSurface, hidden: str) -> list[str]:
    return [tool.name for tool in surface.definitions if tool.name != hidden]


def _unexposed(surface: ToolSurface, hidden: str) -> ToolSurface:
    return ToolSurface(tuple(replace(tool, exposed=tool.name != hidden) for tool in surface.definitions))


HIDINGS: Mapping[str, Hiding] = {
    "denied": lambda surface, hidden: masked(surface, deny=[hidden]),
    "denied by its outward name": lambda surface, hidden: masked(surface, deny=[outward_name(hidden)]),
    "denied and allowed": lambda surface, hidden: masked(surface, allow=["*"], deny=[hidden]),
    "not allowed": lambda surface, hidden: masked(surface, allow=_others(surface, hidden)),
    "not exposed either": lambda surface, hidden: masked(_unexposed(surface, hidden), deny=[hidden]),
    "not exposed": _unexposed,
    "composed": lambda surface, hidden: compose(ToolSource("all", surface.definitions), deny=[hidden]),
}


def named(definitions: Iterable[ToolDefinition], end: str) -> ToolDefinition:
    """The tool that ends so; sources put prefixes before the names."""
    return next(tool for tool in definitions if tool.name.endswith(end))


PAIRS = [("composed and routed", hiding) for hiding in HIDINGS] + [(name, "denied") for name in SOURCES]


@pytest.mark.parametrize(("source", "hiding"), dict.fromkeys(PAIRS))
def test_a_hidden_tool_is_in_no_request_and_a_call_of_it_never_reaches_its_host(
    source: str, hiding: str
) -> None:
    with SOURCES[source]() as opened:
        is_never_reached(opened, hiding)


def is_never_reached(opened: Source, hiding: str) -> None:
    hidden, seen = named(opened.definitions, opened.hidden), named(opened.definitions, opened.seen)
    surface, host = HIDINGS[hiding](ToolSurface(opened.definitions), hidden.name), Watched(opened.host)
    config = LoopConfig(text_dialects=("hermes_json",), repetition_warn=None, repetition_stop=None)
    plan = Plan.of(model="m", messages="Go on.", tools=surface, config=config)
    in_text = json.dumps({"name": hidden.outward, "arguments": ARGUMENTS})
    script = (
        calling((seen.outward, {})),
        calling((hidden.outward, ARGUMENTS)),
        calling((hidden.name, ARGUMENTS)),
        saying(f"<tool_call>{in_text}</tool_call>"),
        saying("Done."),
    )
    with serving(*map(replying, script)) as server, HttpEndpoint(server.url) as endpoint:
        ended = run(plan, Ports(endpoint, host))
    assert ended.outcome == Completed("Done.")
    assert host.asked == [seen.name]
    refused = [note.code for note in ended.notes if isinstance(note, CallRejected)]
    assert refused == ["TOOL_NOT_ALLOWED"] * 3
    assert told_of(server, hidden.outward) == [False] * 5
    assert told_of(server, seen.outward) == [True] * 5
    for first in server.seen[:2]:
        assert hidden.outward.encode() not in first.body, "named before the model named it"


def told_of(server: ChatServer, name: str) -> list[bool]:
    """For each request, whether its tools say anything of a name."""
    return [name in json.dumps(json.loads(request.body)["tools"]) for request in server.seen]
