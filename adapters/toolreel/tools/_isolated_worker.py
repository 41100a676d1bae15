"""Main program of the process of an isolated tool: import the function, call it once, return the result.

Output of the tool goes to stderr, because stdout carries the response.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pkgutil import resolve_name
from typing import Any, cast

from toolreel._driver import immediately
from toolreel.tools._call_context import RunContext
from toolreel.tools._python_tools import Call, Tool
from toolreel_core._jsontext import Json
from toolreel_core._protocol import RunTool, dump, load_effect


def serve_request() -> None:
    # Keep stdout for the response and point descriptor 1 at stderr, so that output of the tool, even of C
    # extensions and child processes, cannot mix with it.
    channel = os.dup(1)
    os.dup2(2, 1)
    request = json.loads(sys.stdin.buffer.read())
    if (limit := request["memory_bytes"]) is not None:
        # Windows has no such module, and a limit above the system's own is a ValueError.
        with suppress(ImportError, ValueError, OSError):
            import resource

            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    response = json.dumps(run_requested_tool_call(request)).encode()
    sys.stdout.flush()
    sys.stderr.flush()
    with os.fdopen(channel, "wb") as out:
        out.write(response)
    os._exit(0)  # returning would wait for threads that the tool left running


def run_requested_tool_call(request: Mapping[str, Any]) -> Mapping[str, Json]:
    """The event of the requested call, and the traceback of an unexpected exception."""
    effect = cast("RunTool", load_effect(request["effect"]))
    tool = Tool.of(
        resolve_name(request["target"]),
        name=effect.name,
        parameters=request["parameters"],
        ok_key=request["ok_key"],
        # The tool may be marked as isolated; here, that would start one process after another.
        isolated=False,
    )
    unexpected = list[Exception]()
    call = Call(
        tool, effect, RunContext.of_call(effect, None), None, lambda _, error: unexpected.append(error)
    )
    event = (asyncio.run if tool.is_async else immediately)(call.perform())
    trace = "".join(line for error in unexpected for line in traceback.format_exception(error))
    return {"event": dump(event), "trace": trace}
