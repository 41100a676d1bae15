"""A weak model, scripted: ``python weak_model.py COMMAND`` runs a command with its server as ``--base-url``.

It knows what to call, but writes every third call or so as text. The seed of a request
decides which, so the evaluation gives the same result each time.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from toolreel.testing import calling, saying


def next_call(task: str, results: list[Any]) -> tuple[str, Mapping[str, Any]] | None:
    """What has to be called for a task, after these results."""
    [(count, part)] = re.findall(r"(\d+|all|many) pieces of (\w+)", task)
    if count == "many":
        return ("stock", {"part": part}) if not results else None
    if count == "all":
        calls = [("stock", {"part": part}), ("reserve", {"part": part, "count": (results or [0])[0]})]
        return calls[len(results)] if len(results) < 2 else None
    return ("reserve", {"part": part, "count": int(count)}) if not results else None


def reply(messages: list[dict[str, Any]], seed: int) -> Mapping[str, Any]:
    """The reply to a conversation."""
    task = next(message["content"] for message in messages if message["role"] == "user")
    tool_messages = [json.loads(message["content"]) for message in messages if message["role"] == "tool"]
    results = [told["data"]["value"] for told in tool_messages]
    call = next_call(task, results)
    if call is None:
        return saying(f"There are {results[0]}." if task.startswith("How many") else "They are reserved.")
    if random.Random(f"{task} {len(messages)} {seed}").random() < 0.3:  # noqa: S311 - chance, not a secret
        name, arguments = call
        return saying(f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>")
    return calling(call)


class Model(BaseHTTPRequestHandler):
    """Chat completions."""

    def do_POST(self) -> None:
        """Answer."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = json.dumps(reply(request["messages"], request["seed"])).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


def main(command: list[str]) -> int:
    """Serve for as long as the command runs; its exit status."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        Thread(target=server.serve_forever, args=(0.01,)).start()
        try:
            url = f"http://127.0.0.1:{server.server_address[1]}/v1"
            environment = {**os.environ, "NO_PROXY": "127.0.0.1"}
            return subprocess.run([*command, "--base-url", url], env=environment, check=False).returncode
        finally:
            server.shutdown()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
