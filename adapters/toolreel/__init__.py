"""Adapters: who performs what :mod:`toolreel_core` asks for.

=====================  ==================================================================
module                 does
=====================  ==================================================================
``drive``              the driver: ``run(plan, performer)``; ``adrive`` is its async twin
``perform``            a performer out of an endpoint and a tool host
``http``, ``ahttp``    ``SendRequest`` over HTTP, with httpx
``fast``, ``afast``    the same with pyreqwest, for many runs at once
``taped``              the same from a cassette, with no HTTP library in between
``cassette``           httpx transports that record and replay HTTP, with vcrpy
``cassette_session``   ``use_cassette``: a session of any HTTP client, replayed, recorded or extended
``python_tools``       ``RunTool`` by typed Python functions; ``apython_tools`` for async ones
``routing``            one tool host out of several, by prefixes of names
``mcp_tools``          ``RunTool`` by MCP servers; ``amcp_tools`` is its async twin
``skills``             Agent Skills as Python tools
``openapi_tools``      ``RunTool`` by servers with an OpenAPI document; ``aopenapi_tools`` is its async twin
``call_context``       what a tool may know of its run and call; ``isolation`` gives it a process
``msgspec_schema``     tool schemas from msgspec structs
``tokenizer``          token estimates by a model's own tokenizer
``fast_validation``    arguments checked by a validator in Rust before jsonschema is asked
``journal``            events to and from JSON lines; ``journal_file`` on disk
``resumption``         going on with a run that was killed or rests
``rehearsal``          both effects from a journal, with or without a cassette
``fork``               a recorded run from any event on with a change; ``counterfactual`` all of it
``divergence``         where two recorded runs part, and what came of it
``scripted``           fakes of both, for tests
``immediate``          ports that never wait, offered to the async driver
``httpx2_transports``  the cassette for clients of httpx2, such as those of the openai SDK
``pytest_plugin``      a recording for each test, by its name; ``reel`` is what the test gets
``claims``             claims about a run, for tests
=====================  ==================================================================

Importing this package loads no HTTP library; each module that needs an extra says which. Its
names are loaded when they are first asked for, since every pytest that has toolreel installed
imports the package for its plugin.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolreel._driver.aio import ago_on, arun
    from toolreel._driver.performer import AsyncPorts, Ports
    from toolreel._driver.run import Run
    from toolreel._driver.sync import go_on, run
    from toolreel._journal.file import FileJournal, ReopenedJournal
    from toolreel._journal.record import MemoryJournal, read_journal
    from toolreel._replay.resume import aresume, resume
    from toolreel.testing._assertions import Claims, assert_reel
    from toolreel.testing._expected_calls import ExpectedCall, call
    from toolreel.testing._scripted import ScriptedEndpoint, ScriptedTools
    from toolreel.tools._call_context import CurrentCall, RunContext, current_call
    from toolreel.tools._errors import ToolError
    from toolreel.tools._isolation import Isolation
    from toolreel.tools._python.host import PythonTools
    from toolreel.tools._python.tool import Tool, tool

__all__ = [
    "AsyncPorts",
    "Claims",
    "CurrentCall",
    "ExpectedCall",
    "FileJournal",
    "Isolation",
    "MemoryJournal",
    "Ports",
    "PythonTools",
    "ReopenedJournal",
    "Run",
    "RunContext",
    "ScriptedEndpoint",
    "ScriptedTools",
    "Tool",
    "ToolError",
    "ago_on",
    "aresume",
    "arun",
    "assert_reel",
    "call",
    "current_call",
    "go_on",
    "read_journal",
    "resume",
    "run",
    "tool",
]

_HOMES: Final = {
    "AsyncPorts": "perform",
    "Claims": "claims",
    "CurrentCall": "call_context",
    "ExpectedCall": "expected_calls",
    "FileJournal": "journal_file",
    "Isolation": "isolation",
    "MemoryJournal": "journal",
    "Ports": "perform",
    "PythonTools": "python_tools",
    "ReopenedJournal": "journal_file",
    "Run": "finished",
    "RunContext": "call_context",
    "ScriptedEndpoint": "scripted",
    "ScriptedTools": "scripted",
    "Tool": "tool_functions",
    "ToolError": "tool_errors",
    "ago_on": "adrive",
    "aresume": "resumption",
    "arun": "adrive",
    "assert_reel": "claims",
    "call": "expected_calls",
    "current_call": "call_context",
    "go_on": "drive",
    "read_journal": "journal",
    "resume": "resumption",
    "run": "drive",
    "tool": "tool_functions",
}
"""The module that each name is in."""


if not TYPE_CHECKING:  # else a checker would take every name for one that there is

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
