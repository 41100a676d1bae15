"""Tools by import path, as ``--tools`` names them."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from toolreel._internal.errors import ToolModuleError
from toolreel.tools._python.host import Toolbox
from toolreel.tools._python.tool import Tool, ToolLike


def load_tools(names: Iterable[str]) -> list[ToolLike]:
    """Import tools by name; an attribute can be a function, a :class:`Tool`, a list of them, or a host.

    A name is ``module:attribute`` or ``file.py:attribute``; the file's folder is then searched for imports.
    A host (``PythonTools``) gives its tools; it cannot be used if it has settings that calls need.

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
    place, colon, attribute = name.rpartition(":")
    if not colon or not place or not attribute:
        raise ToolModuleError(f"--tools {name}: expected module:attribute, for example my_tools:TOOLS")
    module_name = _module_of_file(Path(place), name) if place.endswith(".py") else place
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


def _module_of_file(file: Path, name: str) -> str:
    """The name under which a file can be imported, with its folder searched first, as for a script."""
    if not file.is_file():
        raise ToolModuleError(f"--tools {name}: there is no file {file}")
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    found = importlib.util.find_spec(file.stem)
    if found is None or found.origin is None or Path(found.origin).resolve() != file.resolve():
        raise ToolModuleError(
            f"--tools {name}: another module is named {file.stem}; rename the file to import it"
        )
    return file.stem


def _at(error: BaseException) -> str:
    """The line and file of an error, for the message."""
    if isinstance(error, SyntaxError):
        return ""  # its message has the place
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f" (line {trace.tb_lineno} of {trace.tb_frame.f_code.co_filename})" if trace else ""


def _tools(value: object, name: str) -> list[ToolLike]:
    if isinstance(value, Toolbox):
        if value.has_settings:
            raise ToolModuleError(
                f"--tools {name}: a {type(value).__name__} with deps, a deadline or callbacks cannot be used "
                "here, since its calls need them; name a list of tools"
            )
        value = value.tools
    candidates: list[object] = list(value) if isinstance(value, (list, tuple)) else [value]
    tools: list[ToolLike] = []
    for candidate in candidates:
        if not isinstance(candidate, Tool) and not callable(candidate):
            raise ToolModuleError(
                f"--tools {name}: expected a function, a Tool, a list of them or a PythonTools, "
                f"got {type(candidate).__name__}"
            )
        tool = candidate if isinstance(candidate, Tool) else Tool.of(candidate)
        tools.append(tool.from_source(name))
    return tools
