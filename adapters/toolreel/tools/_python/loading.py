"""Import tools by ``module:attribute``, as on the command line."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from toolreel._errors import ToolModuleError
from toolreel.tools._python.tool import Tool, ToolLike


def load_tools(names: Iterable[str]) -> list[ToolLike]:
    """Import tools by name; an attribute can be a function, a :class:`Tool`, or a list of them.

    Each is returned as a :class:`Tool` whose source is the name. The working directory is searched too, as
    ``python -m`` does.

    :raises ToolModuleError: if a module cannot be imported, or the attribute is not a tool
    :raises ConfigError: if a signature cannot be converted to a schema
    """
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    return [tool for name in names for tool in _load(name)]


def _load(name: str) -> list[ToolLike]:
    module_name, colon, attribute = name.partition(":")
    if not colon or not module_name or not attribute:
        raise ToolModuleError(f"--tools {name}: expected module:attribute, for example my_tools:TOOLS")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ToolModuleError(f"--tools {name}: cannot import {module_name}: {error}") from error
    except (Exception, SystemExit) as error:
        raise ToolModuleError(
            f"--tools {name}: importing {module_name} failed with {type(error).__name__}: {error}{_at(error)}"
        ) from error
    if not hasattr(module, attribute):
        close = get_close_matches(attribute, dir(module), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ToolModuleError(f"--tools {name}: {module_name} has no {attribute!r}{hint}")
    return _tools(getattr(module, attribute), name)


def _at(error: BaseException) -> str:
    """The line and file of an error, for the message."""
    if isinstance(error, SyntaxError):
        return ""  # its message has the place
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f" (line {trace.tb_lineno} of {trace.tb_frame.f_code.co_filename})" if trace else ""


def _tools(value: object, name: str) -> list[ToolLike]:
    candidates: list[object] = list(value) if isinstance(value, (list, tuple)) else [value]
    tools: list[ToolLike] = []
    for candidate in candidates:
        if not isinstance(candidate, Tool) and not callable(candidate):
            raise ToolModuleError(
                f"--tools {name}: {candidate!r} is not a tool; expected a function, a Tool or a list of them"
            )
        tool = candidate if isinstance(candidate, Tool) else Tool.of(candidate)
        tools.append(tool.from_source(name))
    return tools
