"""``python -m toolreel_core``: the core over stdin and stdout, for hosts in other languages.

The only file of the core that performs I/O; docs/decisions/0184 says why it may.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from toolreel_core._host_session import HostSession

SCHEMA = Path(__file__).with_name("protocol.schema.json")
"""Generated from the classes: ``python -m tests.kit.write``."""

HELP = """\
usage: python -m toolreel_core [--schema | --help]

The tool loop as a service of your program: one JSON message a line on stdin, one answer a line on stdout.
You send requests and run tools; the core decides what comes next. Many runs may go on at once.

  --schema   print the JSON Schema of all messages

Begin a run under a name of yours:

  {"toolreel":1,"run":"a","start":{"type":"plan","model":"m","messages":[{"type":"user_message","content":"Hi"}]}}

The answer lists effects, such as a request to POST. Perform each, and send what came back with the same ref:

  {"toolreel":1,"run":"a","event":{"type":"http_response","ref":1,"status":200,"body":"..."}}
  {"toolreel":1,"run":"a","event":{"type":"request_failed","ref":1,"failure":"connect","message":"refused"}}
  {"toolreel":1,"run":"a","event":{"type":"tool_returned","ref":2,"output":"{\\"ok\\":true,\\"data\\":4}"}}
  {"toolreel":1,"run":"a","event":{"type":"approval_given","ref":3,"approved":true}}
  {"toolreel":1,"run":"a","event":{"type":"wait_elapsed","ref":4}}

until "outcome" is no longer null. Without "run", each answer has the "state", which you send back:

  {"toolreel":1,"state":{...},"event":{...}}

A line that is wrong gets an answer with "error", which names the field; its run stays as it was.
"with":["journal"] adds the lines of a journal, which `toolreel replay` proves. All of it: docs/protocol.md.
"""


def main(arguments: list[str]) -> int:
    """Answer lines until there are no more, or print what was asked for; returns the exit code."""
    try:
        match arguments:
            case []:
                _serve()
            case ["-h" | "--help"]:
                sys.stdout.write(HELP)
            case ["--schema"]:
                sys.stdout.write(SCHEMA.read_text("utf-8"))
            case _:
                sys.stderr.write(f"python -m toolreel_core: unknown argument {arguments[0]!r}; see --help\n")
                return 2
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        # The host is gone, or the disk full. Python flushes stdout (1) again as it ends: let that not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"python -m toolreel_core: {error}\n")
            return 2
    return 0


def _serve() -> None:
    if None in {sys.stdin, sys.stdout}:  # closed by the host
        raise OSError("needs stdin and stdout")
    session, answers = HostSession(), sys.stdout.buffer
    for line in sys.stdin.buffer:
        # Bytes that are not UTF-8 can only be in texts; the core replaces them wherever they come from.
        answer = session.answer(line.decode("utf-8", "replace").rstrip("\r\n"))
        answers.write(answer.encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
