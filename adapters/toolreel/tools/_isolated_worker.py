"""The process of an isolated tool: imports the function, calls it once, and hands back what came of it.

What the tool prints goes to stderr, since stdout carries the answer.
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
from typing import Any

from toolreel.tools._call_context import ToolError, running
from toolreel.tools._events import failure, keywords, succeeded
from toolreel.tools._python.signature import signature_of, untyped_arguments
from toolreel_core._jsontext.canonical import Json, JsonText
from toolreel_core._protocol.effects import RunTool

__all__ = ["run_request", "serve_request"]


def serve_request() -> None:
    """Answer the question that comes on stdin."""
    channel = os.dup(1)
    os.dup2(2, 1)
    question = json.loads(sys.stdin.buffer.read())
    _limit_memory(question["memory_bytes"])
    answer = json.dumps(run_request(question)).encode()
    sys.stdout.flush()
    sys.stderr.flush()
    with os.fdopen(channel, "wb") as out:
        out.write(answer)
    os._exit(0)  # not `return`, which would wait for threads that the tool has left running


def run_request(question: Mapping[str, Any]) -> Mapping[str, Json]:
    """The output of the call that a question tells of, and the trace of what it raised, if it did."""
    told = (question["name"], JsonText(question["arguments"]), question["key"], question["turn"])
    effect = RunTool(0, question["call_id"], *told)
    try:
        with running(effect):
            return {"output": succeeded(effect, _call(question, effect)).output}
    except ToolError as error:
        return {"output": failure(effect, error).output}
    except Exception as error:  # noqa: BLE001 - whatever a tool raises is told
        trace = "".join(traceback.format_exception(error))
        return {"output": failure(effect, error).output, "trace": trace}


def _call(question: Mapping[str, Any], effect: RunTool) -> object:
    module, _, name = question["target"].partition(":")
    function: Any = importlib.import_module(module)
    for part in name.split("."):
        function = getattr(function, part)
    if question["typed"]:
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
