"""Adapters: who performs what :mod:`toolreel` asks for.

==================  =====================================================================
module              does
==================  =====================================================================
``drive``           the driver: ``run(plan, performer)``; ``adrive`` is its async twin
``perform``         a performer out of an endpoint and a tool host
``http``, ``ahttp`` ``SendRequest`` over HTTP, with httpx
``cassette``        httpx transports that record and replay HTTP, with vcrpy
``python_tools``    ``RunTool`` by typed Python functions; ``apython_tools`` for async ones
``journal``         events to and from JSON lines
``rehearsal``       both effects from a journal, with or without a cassette
``scripted``        fakes of both, for tests
``immediate``       ports that never wait, offered to the async driver
==================  =====================================================================

Importing this package loads no HTTP library; each module that needs an extra says which.
"""

from toolreel_adapters.adrive import arun
from toolreel_adapters.drive import run
from toolreel_adapters.finished import Run
from toolreel_adapters.journal import FileJournal, MemoryJournal, read_journal
from toolreel_adapters.perform import AsyncPorts, Ports
from toolreel_adapters.python_tools import PythonTools, Tool, ToolError
from toolreel_adapters.scripted import ScriptedEndpoint, ScriptedTools

__all__ = [
    "AsyncPorts",
    "FileJournal",
    "MemoryJournal",
    "Ports",
    "PythonTools",
    "Run",
    "ScriptedEndpoint",
    "ScriptedTools",
    "Tool",
    "ToolError",
    "arun",
    "read_journal",
    "run",
]
