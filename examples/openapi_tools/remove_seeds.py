"""The operations of an OpenAPI document as tools: FastMCP's OpenAPI server behind our MCP client.

The shop below is an ordinary HTTP server that wants a key. FastMCP reads its document and calls it, in a
process of its own (``openapi_server.py``). The masks in ``mcp.json`` say what is offered, what only reads,
and what needs approval. Calls and results are in the journal, so that the second run needs neither server.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from toolreel import Always, Completed, MemoryJournal, Plan, Ports, Rehearsal, go_on, parse_journal, run
from toolreel.testing import ScriptedEndpoint, calling, saying
from toolreel.tools.mcp import McpTools, read_mcp_servers
from toolreel_core import AskApproval, pending

HERE: Final = Path(__file__).parent
KEY: Final = "only-for-the-shop"
SEEDS: Final = {"broad bean": {"month": 2, "depth_cm": 8}, "basil": {"month": 4, "depth_cm": 0}}


class Shop(BaseHTTPRequestHandler):
    """Answers requests that have the key."""

    def do_GET(self) -> None:
        """Find seeds, or describe one."""
        parts = urlsplit(self.path)
        if parts.path == "/seeds":
            month = int(parse_qs(parts.query)["month"][0])
            self._answer([name for name, seed in SEEDS.items() if seed["month"] == month])
        else:
            self._answer(SEEDS[unquote(parts.path.removeprefix("/seeds/"))])

    def do_DELETE(self) -> None:
        """Remove a seed."""
        self._answer(SEEDS.pop(unquote(self.path.removeprefix("/seeds/"))))

    def _answer(self, tree: object) -> None:
        allowed = self.headers["authorization"] == f"Bearer {KEY}"
        body = json.dumps(tree if allowed else {"detail": "no key"}).encode()
        self.send_response(200 if allowed else 401)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


@contextmanager
def open_shop() -> Generator[str]:
    """The shop's URL, for as long as it is open."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Shop) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def main() -> None:
    """Find a seed and remove it, once somebody has approved; then do without the servers."""
    endpoint = ScriptedEndpoint(
        [
            calling(("mcp_seeds_get_find_seeds", {"month": 2})),
            calling(("mcp_seeds_delete_remove_seed", {"name": "broad bean"})),
            saying("Broad beans are gone."),
        ]
    )
    with open_shop() as url:
        variables = {"SHOP": url, "SHOP_KEY": KEY, "PYTHON": sys.executable, "HERE": str(HERE)}
        with McpTools(read_mcp_servers(HERE / "mcp.json", variables)) as tools:
            for tool in tools.surface.definitions:
                print(tool.name, "needs approval" if tool.needs_approval else "only reads")
            question = "Remove what is sown in February."
            plan = Plan.of(model="scripted", messages=question, tools=tools.surface)
            journal = MemoryJournal(plan)
            resting = run(plan, Ports(endpoint, tools), journal=journal)
            (asked,) = pending(resting.state)
            assert isinstance(asked, AskApproval)
            assert "broad bean" in SEEDS
            print(f"to be approved: {asked.name} {asked.arguments}")
            ended = go_on(resting.state, Ports(endpoint, tools, Always()), journal=journal)
    endpoint.finish()
    assert ended.outcome == Completed("Broad beans are gone.")
    assert "broad bean" not in SEEDS
    assert KEY not in journal.text

    rehearsal = Rehearsal(parse_journal(journal.text))
    again = MemoryJournal(plan)
    run(plan, rehearsal, journal=again)
    rehearsal.finish()
    print(f"{ended.outcome.name}; replayed without a server, identical: {again.text == journal.text}")


if __name__ == "__main__":
    main()
