"""Tools of MCP servers in a run: a public server over stdio, recorded once, replayed with no server at all.

The configuration is the ``mcpServers`` JSON that other clients use. What the server offers is frozen before
the run begins; a definition that changes later is refused. The calls and their results are in the journal,
so that the second run below starts no process.
"""

from __future__ import annotations

import sys
from pathlib import Path

from toolreel import Completed, Json, MemoryJournal, Plan, Ports, Rehearsal, parse_journal, run
from toolreel.testing import ScriptedEndpoint, calling, saying
from toolreel.tools.mcp import McpTools, mcp_servers

CONFIG: Json = {
    "mcpServers": {
        "time": {
            "command": "${PYTHON_SCRIPTS}/mcp-server-time",
            "toolreel": {"allow": ["convert_time"], "read_only": ["convert_time"], "deadline_ms": 10_000},
        }
    }
}
NOON = {"source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "Asia/Tokyo"}


def main() -> None:
    """Ask a server for the time in another place; then do without it."""
    scripts = str(Path(sys.executable).parent)
    endpoint = ScriptedEndpoint(
        [calling(("mcp_time_convert_time", NOON)), saying("Noon in Berlin is evening in Tokyo.")]
    )
    with McpTools(mcp_servers(CONFIG, {"PYTHON_SCRIPTS": scripts})) as tools:
        for tool in tools.surface.definitions:
            print(f"{tool.name}, {tool.size} bytes, fingerprint {tool.fingerprint[:16]}")
        plan = Plan.of(
            model="scripted",
            messages="When it is noon in Berlin, how late is it in Tokyo?",
            tools=tools.surface,
        )
        journal = MemoryJournal(plan)
        ended = run(plan, Ports(endpoint, tools), journal=journal)
    endpoint.finish()

    rehearsal = Rehearsal(parse_journal(journal.text))
    again = MemoryJournal(plan)
    replayed = run(plan, rehearsal, journal=again)
    rehearsal.finish()
    print(f"{ended.outcome.name}; replayed without a server, identical: {again.text == journal.text}")
    assert ended.outcome == replayed.outcome == Completed("Noon in Berlin is evening in Tokyo.")
    assert again.text == journal.text


if __name__ == "__main__":
    main()
