"""The operations of an OpenAPI document as tools, at a real server; recorded, and replayed without it.

The shop below is an ordinary HTTP server with a key. Two of its operations are chosen by their tag, so the
third is never seen by the model. What the tools ask the shop is on tape: the second run sends nothing, and
its journal is byte-identical. The key goes out with each request, and is in neither record.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import httpx

from toolreel import Completed, MemoryJournal, Plan, Ports, run
from toolreel.cassette import RecordTransport, ReplayTransport, recording, replaying
from toolreel.testing import ScriptedEndpoint, calling, saying
from toolreel.tools.openapi import Credentials, OpenApiSource, OpenApiTools, parsed_document

SHOP = """
openapi: 3.1.0
info: {title: A shop for seeds, version: "1"}
security: [{key: []}]
paths:
  /seeds:
    get:
      operationId: find_seeds
      tags: [reading]
      summary: Find seeds by the month in which they are sown.
      parameters:
        - {name: month, in: query, required: true, schema: {type: integer, minimum: 1, maximum: 12}}
  /seeds/{name}:
    get:
      operationId: describe_seed
      tags: [reading]
      summary: How a seed is sown.
      parameters:
        - {name: name, in: path, required: true, schema: {type: string}}
    delete:
      operationId: remove_seed
      tags: [writing]
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Shop-Key}
"""
KEY = "only-for-the-shop"
SEEDS = {"broad bean": {"month": 2, "depth_cm": 8}, "basil": {"month": 4, "depth_cm": 0}}


class Shop(BaseHTTPRequestHandler):
    """Answers requests that have the key."""

    def do_GET(self) -> None:
        """Find seeds, or describe one."""
        parts = urlsplit(self.path.replace("%20", " "))
        if self.headers["x-shop-key"] != KEY:
            self._say({"detail": "no key"}, 401)
        elif parts.path == "/seeds":
            month = int(parse_qs(parts.query)["month"][0])
            self._say([name for name, seed in SEEDS.items() if seed["month"] == month])
        else:
            seed = SEEDS.get(parts.path.removeprefix("/seeds/"))
            self._say(seed or {"detail": "no such seed"}, 200 if seed else 404)

    def _say(self, tree: object, status: int = 200) -> None:
        body = json.dumps(tree).encode()
        self.send_response(status)
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


def asked(url: str, transport: httpx.BaseTransport) -> str:
    """Ask for a seed, and how it is sown; the journal of the run."""
    seeds = OpenApiSource(
        "seeds",
        parsed_document(SHOP),
        tags=("reading",),
        base_url=url,
        credentials=Credentials({"key": KEY}),
    )
    endpoint = ScriptedEndpoint(
        [
            calling(("openapi_seeds_find_seeds", {"month": 2})),
            calling(("openapi_seeds_describe_seed", {"name": "broad bean"})),
            saying("Broad beans, 8 cm deep."),
        ]
    )
    with OpenApiTools([seeds], transport=transport) as tools:
        plan = Plan.of(model="scripted", messages="What do I sow in February?", tools=tools.surface)
        journal = MemoryJournal(plan)
        ended = run(plan, Ports(endpoint, tools), journal=journal)
    endpoint.finish()
    print(f"{', '.join(plan.tools.names)}: {ended.outcome.name}")
    assert ended.outcome == Completed("Broad beans, 8 cm deep.")
    return journal.text


def main() -> None:
    """Ask the shop; then do without it."""
    with TemporaryDirectory() as folder:
        tape_file = Path(folder) / "shop.yaml"
        with open_shop() as url, recording(tape_file, known_secrets={"the key": KEY}) as tape:
            live = asked(url, RecordTransport(tape, httpx.HTTPTransport()))
        with replaying(tape_file) as tape:
            replayed = asked(url, ReplayTransport(tape))
        print(f"replayed without a server, identical: {live == replayed}")
        assert live == replayed
        assert KEY not in tape_file.read_text("utf-8") + live


if __name__ == "__main__":
    main()
