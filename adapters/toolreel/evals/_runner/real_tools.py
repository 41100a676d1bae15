"""The ``[real]`` table of a scenario file: Python functions and MCP servers that run for real.

What they are called and which arguments they take is written into the scenario when its file is read, so
that a record can be judged without them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

from toolreel._driver import ToolHost
from toolreel._internal import EvalPlanError, MissingExtra
from toolreel.tools import PythonTools, load_tools
from toolreel_core._config_checks import Table, unknown_name
from toolreel_core._jsontext import Json, JsonText, Tree, as_tree, chain, parse, tree_at
from toolreel_core._protocol import RunTool, ToolReturned
from toolreel_core._tools import ToolSurface
from toolreel_core.evals import PACK, Scenario


class _Host(ToolHost):
    """Passes each call of one attempt to the host that has its tool, with a key that no other attempt has.

    The loop computes idempotency keys from the plan, which is the same at two endpoints, and when a run is
    made again. A tool that remembers keys would act for the first of them alone.

    :param hosts: with the inner name of the tool, by the name that the model sees, which is the scenario's
    """

    def __init__(self, hosts: Mapping[str, tuple[str, ToolHost]]) -> None:
        self._open_hosts = hosts
        self._attempt = uuid4().hex

    def run(self, effect: RunTool) -> ToolReturned:
        """Run the call where its tool is; a call that is repeated within the attempt keeps its key."""
        inner, host = self._open_hosts[effect.name]
        return host.run(replace(effect, name=inner, key=chain("attempt", self._attempt, effect.key)))


def real_hosts(tree: JsonText, stack: ExitStack) -> ToolHost:
    """The real tools of a scenario, started.

    :param stack: stops them
    :raises AdapterError: if they cannot be loaded or started
    """
    surfaces = _open_hosts(tree_at(as_tree(parse(tree)), "real"), stack)
    return _Host({one.outward: (one.name, host) for surface, host in surfaces for one in surface.definitions})


def served_host(scenario: Scenario, seed: str, stack: ExitStack) -> ToolHost:
    """The tools of a scenario whose world is in an MCP server, started.

    :param stack: stops the server
    :raises AdapterError: if it cannot be started
    """
    check_served([scenario])
    from toolreel.tools.mcp import McpTools, ServerSettings, StdioServer

    version = 0 if scenario.pack == PACK else scenario.version
    arguments = ("-m", "toolreel.evals._runner.world_server", scenario.tree, str(version), seed)
    # It only imports before it answers; on a busy machine with many jobs that may take long.
    patient = ServerSettings(start_ms=300_000)
    server = StdioServer(scenario.begin(seed).server, sys.executable, arguments, settings=patient)
    tools = stack.enter_context(McpTools((server,)))
    return _Host({one.outward: (one.name, tools) for one in tools.surface.definitions})


def check_served(scenarios: Iterable[Scenario]) -> None:
    """Refuse scenarios with a server of their own where nothing can speak to it.

    :raises MissingExtra: if so; says how to go without them
    """
    for one in scenarios:
        if one.begin("").server and not find_spec("mcp"):
            raise MissingExtra(
                f"the scenario {one.name!r} runs an MCP server, and mcp is not installed: pip install"
                f" 'toolreel[mcp]', or leave the scenario out with '!{one.name}'",
                name="mcp",
            )


def with_real_tools(tree: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A scenario's table in which its real tools are listed, and their places are relative to here.

    :param folder: of the file
    :raises PlaceError: if the ``[real]`` table is not valid
    :raises AdapterError: if a tool cannot be loaded or a server not started
    """
    if "real" not in tree:
        return tree
    table = Table.of(tree["real"], "real").only("python", "mcp", "effects")
    real: dict[str, Json] = {}
    if "python" in table.values:
        text = table.values["python"]
        named = (text,) if isinstance(text, str) else table.names("python")
        # A file of tools is next to the scenario's; a module is wherever Python finds it.
        real["python"] = [
            str(folder / one) if one.partition(":")[0].endswith(".py") else one for one in named
        ]
    if "mcp" in table.values:
        real["mcp"] = str(folder / table.text("mcp"))
    if not real:
        raise table.complaint('write python = "tools.py:function", or mcp = "mcp.json"')
    with ExitStack() as stack:
        found = [one for surface, _ in _open_hosts(real, stack) for one in surface.definitions]
    names = [one.outward for one in found]
    effects = table.names("effects")
    real["effects"] = [*effects]
    for name in effects:
        if name not in names:
            raise table.complaint(unknown_name("real tool", name, names), "effects")
    tables = list[Json]()
    for one in found:
        if not one.exposed:
            raise EvalPlanError(f"the real tool {one.name!r} is not exposed, so a model cannot call it")
        entry: Tree = {"name": one.outward, "description": one.description, "real": True}
        effect = one.outward in effects
        tables.append({**entry, "parameters": parse(one.parameters), "effect": effect})
    return {**tree, "real": real, "tool": [*tree.get("tool", []), *tables]}


def _open_hosts(real: Mapping[str, Json], stack: ExitStack) -> Sequence[tuple[ToolSurface, ToolHost]]:
    hosts = list[tuple[ToolSurface, ToolHost]]()
    python, mcp = real.get("python"), real.get("mcp")
    if isinstance(python, list | tuple):
        tools = PythonTools(load_tools(map(str, python)))
        hosts.append((tools.surface, tools))
    if isinstance(mcp, str):
        try:
            from toolreel.tools.mcp import McpTools, read_mcp_servers
        except ImportError as error:
            raise MissingExtra.of("mcp", "mcp") from error
        servers = stack.enter_context(McpTools(read_mcp_servers(Path(mcp), os.environ)))
        hosts.append((servers.surface, servers))
    return hosts
