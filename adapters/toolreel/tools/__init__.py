"""Tool hosts: MCP servers, Agent Skills; Python functions are in ``toolreel`` itself."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.tools._bounded_process import (
        SIGKILL,
        BoundedProcess,
        ProcessOutput,
        ProcessResult,
        describe_exit,
        inherited_environment,
        kill_descendants,
        running_descendants,
        signal_group,
    )
    from toolreel.tools._call_context import (
        CurrentCall,
        RunContext,
        ToolError,
        as_current_call,
        begin_spending,
        current_call,
        spend,
    )
    from toolreel.tools._docstrings import parse_docstring
    from toolreel.tools._hosts import AsyncRouter, Router, Threaded, await_future
    from toolreel.tools._isolation import Crash, Isolation
    from toolreel.tools._json_types import InvalidValue, JsonType, Types
    from toolreel.tools._python_tools import (
        CALL_DEADLINE,
        AsyncPythonTools,
        PythonTools,
        Tool,
        Toolbox,
        ToolLike,
        load_module,
        load_tools,
        tool,
    )
    from toolreel.tools._results import (
        OkKey,
        Output,
        call_arguments,
        exception_event,
        failed_event,
        output_of,
        returned_event,
        success_event,
        timeout_event,
    )
    from toolreel.tools._signature import argument_types, signature_of
    from toolreel.tools._values import value_as_json
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)

__all__: list[str] = []
