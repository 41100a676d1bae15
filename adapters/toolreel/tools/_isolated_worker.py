"""Main program of the process of an isolated tool: import the function, call it once, return the result.

Output of the tool goes to stderr, because stdout carries the response.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

from toolreel.tools._call_context import running
from toolreel.tools._results import failure, keywords, succeeded, unexpected
from toolreel.tools._signature import signature_of, untyped_arguments
from toolreel_core._jsontext import Json
from toolreel_core._protocol import RunTool, dump, load_effect


def serve_request() -> None:
    """Read a request from stdin, run it, and write the response to stdout."""
    # Keep stdout for the response and point descriptor 1 at stderr, so that output of the tool, even of C
    # extensions and child processes, cannot mix with it.
    channel = os.dup(1)
    os.dup2(2, 1)
    request = json.loads(sys.stdin.buffer.read())
    _limit_memory(request["memory_bytes"])
    response = json.dumps(run_request(request)).encode()
    sys.stdout.flush()
    sys.stderr.flush()
    with os.fdopen(channel, "wb") as out:
        out.write(response)
    os._exit(0)  # returning would wait for threads that the tool left running


def run_request(request: Mapping[str, Any]) -> Mapping[str, Json]:
    """The event of the requested call, and the traceback of an unexpected exception."""
    effect = cast("RunTool", load_effect(request["effect"]))
    trace = ""
    with running(effect) as context:
        try:
            event = succeeded(effect, _call_function(request, effect), request["ok_key"])
        except Exception as error:  # noqa: BLE001 - every exception of a tool is reported
            event = failure(effect, error)
            if surprise := unexpected(error):
                trace = "".join(traceback.format_exception(surprise))
    return {"event": dump(replace(event, spent=context.spending.total)), "trace": trace}


def _call_function(request: Mapping[str, Any], effect: RunTool) -> object:
    module, _, name = request["target"].partition(":")
    function: Any = importlib.import_module(module)
    for part in name.split("."):
        function = getattr(function, part)
    if request["typed"]:
        arguments = signature_of(function, effect.name).arguments
    else:
        arguments = untyped_arguments(function)
    value = function(**arguments.read(effect.name, keywords(effect), None))
    return asyncio.run(value) if inspect.iscoroutine(value) else value


def _limit_memory(memory_bytes: int | None) -> None:
    if memory_bytes is None:
        return
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
