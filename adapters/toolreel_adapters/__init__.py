"""Adapters: who performs what :mod:`toolreel` asks for.

==================  =====================================================================
module              does
==================  =====================================================================
``drive``           the driver: ``run(plan, performer)``; ``adrive`` is its async twin
``perform``         a performer out of an endpoint and a tool host
``http``, ``ahttp`` ``SendRequest`` over HTTP, with httpx
``cassette``        httpx transports that record and replay HTTP, with vcrpy
``python_tools``    ``RunTool`` by typed Python functions; ``apython_tools`` for async ones
``call_context``    what a tool may know of its call, such as the idempotency key
``msgspec_schema``  tool schemas from msgspec structs
``journal``         events to and from JSON lines
``rehearsal``       both effects from a journal, with or without a cassette
``scripted``        fakes of both, for tests
``immediate``       ports that never wait, offered to the async driver
==================  =====================================================================

Importing this package loads no HTTP library; each module that needs an extra says which.
"""

from toolreel_adapters.adrive import ago_on, arun
from toolreel_adapters.call_context import CurrentCall, current_call
from toolreel_adapters.drive import go_on, run
from toolreel_adapters.finished import Run
from toolreel_adapters.journal import FileJournal, MemoryJournal, read_journal
from toolreel_adapters.perform import AsyncPorts, Ports
from toolreel_adapters.python_tools import PythonTools, Tool, ToolError
from toolreel_adapters.scripted import ScriptedEndpoint, ScriptedTools

__all__ = [
    "AsyncPorts",
    "CurrentCall",
    "FileJournal",
    "MemoryJournal",
    "Ports",
    "PythonTools",
    "Run",
    "ScriptedEndpoint",
    "ScriptedTools",
    "Tool",
    "ToolError",
    "ago_on",
    "arun",
    "current_call",
    "go_on",
    "read_journal",
    "run",
]
