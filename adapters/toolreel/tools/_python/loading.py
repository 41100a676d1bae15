"""Finding tools by ``module:attribute``, as the command line names them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from toolreel._errors import ToolModuleError
from toolreel.tools._python.host import Tool, ToolLike

__all__ = ["load_tools"]


def load_tools(names: Iterable[str]) -> list[ToolLike]:
    """The tools that the names stand for: each a function, a :class:`Tool`, or a list of them.

    Each comes as a :class:`Tool` whose definition has the name as its source.

    The working directory is searched as well, as ``python -m`` does.

    :raises ToolModuleError: if a module cannot be imported, or has nothing of that name that is a tool
    :raises ConfigError: if a signature makes no schema
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
    """Where in the module the error arose."""
    if isinstance(error, SyntaxError):
        return ""  # its own text has the place
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f" (line {trace.tb_lineno} of {trace.tb_frame.f_code.co_filename})" if trace else ""


def _tools(found: object, name: str) -> list[ToolLike]:
    candidates: list[object] = list(found) if isinstance(found, (list, tuple)) else [found]
    tools: list[ToolLike] = []
    for candidate in candidates:
        if not isinstance(candidate, Tool) and not callable(candidate):
            raise ToolModuleError(
                f"--tools {name}: {candidate!r} is not a tool; expected a function, a Tool or a list of them"
            )
        tool = candidate if isinstance(candidate, Tool) else Tool.of(candidate)
        tools.append(tool.from_source(name))
    return tools
