"""A server that stands for a weak model: ``python weak_model.py 8091``.

It knows what to call, but writes every third call or so as text. The seed of a request
decides which, so the evaluation gives the same result each time.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Model).serve_forever()
