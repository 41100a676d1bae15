"""Record, replay and explain the tool loops of language models.

This is the package that an application imports. What most programs need is right here::

    from toolreel import Plan, Ports, PythonTools, run
    from toolreel.http import HttpEndpoint

More is in ``toolreel.http``, ``toolreel.cassette``, ``toolreel.testing``, ``toolreel.presets``,
``toolreel.tools.mcp``, ``toolreel.tools.skills``, ``toolreel.otel``, ``toolreel.durable`` and
``toolreel.evals``; ``toolreel.errors`` has the errors, ``toolreel.ports`` what you may implement,
``toolreel.results`` and ``toolreel.stream_events`` what you get. Messages, events and effects are in
``toolreel_core``, which you import as well if you embed the reducer in a runtime of your own. A path with a
component that begins with an underscore is private.

Names are loaded when they are first used: every pytest on the machine imports this package for its
plugin, and pays nothing for it.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel._agent import Agent, AgentRun, Fallback
    from toolreel._driver import (
        Always,
        AsyncPorts,
        Inbox,
        Later,
        Never,
        OutcomeError,
        Ports,
        Run,
        ago_on,
        aperform,
        arun,
        aspeak,
        astream,
        astream_on,
        attach,
        go_on,
        perform,
        run,
        speak,
        stream,
        stream_on,
    )
    from toolreel._journal import FileJournal
    from toolreel._replay import Changes, aresume, diff, fork, replay, resume, story
    from toolreel.tools import (
        AsyncPythonTools,
        AsyncRouter,
        Isolation,
        PythonTools,
        Router,
        RunContext,
        Tool,
        ToolError,
        current_call,
        output_of,
        spend,
        tool,
    )
    from toolreel_core import (
        Completed,
        ConfigError,
        LoopConfig,
        Plan,
        Preset,
        Price,
        Provider,
        ReplayMismatch,
        Spent,
        SystemMessage,
        ToolreelError,
        UserMessage,
    )
    from toolreel_core._conversation import Audio, File, Image

    __version__: str
else:
    from toolreel._internal import register_run_pages_loader
    from toolreel_core._lazy_names import lazy_exports

    _load, __dir__ = lazy_exports(__name__)

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version  # slow to import, and rarely needed

            return version(__name__)
        return _load(name)

    def _run_pages() -> object:
        from toolreel._replay import run_page  # few runs are shown as a page

        return run_page

    register_run_pages_loader(_run_pages)

__all__ = [
    "Agent",
    "AgentRun",
    "Always",
    "AsyncPorts",
    "AsyncPythonTools",
    "AsyncRouter",
    "Audio",
    "Changes",
    "Completed",
    "ConfigError",
    "Fallback",
    "File",
    "FileJournal",
    "Image",
    "Inbox",
    "Isolation",
    "Later",
    "LoopConfig",
    "Never",
    "OutcomeError",
    "Plan",
    "Ports",
    "Preset",
    "Price",
    "Provider",
    "PythonTools",
    "ReplayMismatch",
    "Router",
    "Run",
    "RunContext",
    "Spent",
    "SystemMessage",
    "Tool",
    "ToolError",
    "ToolreelError",
    "UserMessage",
    "ago_on",
    "aperform",
    "aresume",
    "arun",
    "aspeak",
    "astream",
    "astream_on",
    "attach",
    "current_call",
    "diff",
    "fork",
    "go_on",
    "output_of",
    "perform",
    "replay",
    "resume",
    "run",
    "speak",
    "spend",
    "story",
    "stream",
    "stream_on",
    "tool",
]
