"""The scripted model: a server that answers each request with the calls that the leaderboard has next.

It keeps nothing between requests. The model's name says which turn of which case is played, and the
conversation how far it is: as many calls are done as there are results after the user's last word.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, TypeAlias, get_args

from benchmarks.bfcl.shapes import Asked, Reply, Shape, spoken
from benchmarks.conformance.history import refusals
from benchmarks.conformance.shape import Shape as Rules

__all__ = ["DONE", "WAYS", "Line", "Script", "Way", "answer", "serving"]

Way: TypeAlias = Literal["sequential", "batched"]
"""``sequential``: one call a reply; ``batched``: all calls of a user turn in one, where the shape can."""

WAYS: tuple[Way, ...] = get_args(Way)

DONE = "That is done."
"""What the model says when it has made its calls."""

_STRICT = Rules(id="bfcl", group="", about="", evidence=(), right=())
"""Rules for the history that is sent, without any that a shape of the conformance suite adds."""


@dataclass(frozen=True, slots=True)
class Line:
    """What the model does in one turn of the user."""

    cue: str
    """What the user says."""
    calls: tuple[Asked, ...]


Script: TypeAlias = Mapping[str, Line]
"""By the name under which the model is asked."""


def answer(body: Mapping[str, Any], script: Script, shape: Shape, way: Way) -> Reply | str:
    """The reply to a request, or why a strict server would refuse it."""
    line, messages = script[body["model"]], body["messages"]
    asked = max(at for at, message in enumerate(messages) if _is_cue(message, line.cue))
    done = sum(message["role"] == "tool" for message in messages[asked:])
    left = line.calls[done:]
    if left:
        return shape.write(left if way == "batched" and shape.several else left[:1])
    # Histories only grow, so that the last request of a turn shows what all before have sent.
    return "; ".join(refusals({"messages": messages}, _STRICT)) or spoken(DONE)


def _is_cue(message: Mapping[str, object], cue: str) -> bool:
    return message["role"] == "user" and message["content"] == cue


@contextmanager
def serving(script: Script, shape: Shape, way: Way) -> Generator[str]:
    """Serve on a free port of this machine until the block ends; the URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            reply = answer(body, script, shape, way)
            if isinstance(reply, Reply):
                self._give(200, reply)
            else:
                self._give(400, Reply(json.dumps({"error": {"message": reply}}).encode()))

        def _give(self, status: int, reply: Reply) -> None:
            self.send_response_only(status)
            self.send_header("content-type", reply.content_type)
            self.send_header("content-length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_address[1]}/v1"
        finally:
            http.shutdown()
            thread.join()
