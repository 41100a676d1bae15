"""Write docs/api.md, every public name with its docstring's first line: ``python -m tests.docs.api_page``."""

from __future__ import annotations

import ast
import re
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "docs" / "api.md"

PATHS: Final = {
    "toolreel": "What an application needs. Much of it comes from the core.",
    "toolreel.http": "Endpoints over HTTP. Extra `http`.",
    "toolreel.cassette": "Record and replay HTTP clients. Extra `record`.",
    "toolreel.tools.mcp": "Tools of MCP servers. Extra `mcp`.",
    "toolreel.tools.skills": "Agent Skills. Extra `skills`.",
    "toolreel.testing": "Assertions, scripted ports, the fixture's type. Extra `pytest` for the plugin.",
    "toolreel.presets": "Shipped presets, and your own.",
    "toolreel.proxy": "The proxy as an ASGI application. Extra `proxy`.",
    "toolreel.otel": "OpenTelemetry: spans and metrics of every run. Extra `otel`.",
    "toolreel.probe": "Quirks of an endpoint, and the preset that fits. Extra `record`.",
    "toolreel.durable": "Runs that survive crashes, and limits that processes share. Extra `durable`.",
    "toolreel.evals": "Evaluations. Extra `evals`.",
    "toolreel.demo": "Two tools on a small workspace, for trying things out.",
    "toolreel_core": "The pure core, for embedders.",
    "toolreel_core.evals": "The pure part of evaluations: scenarios, plans, verdicts, summaries.",
}
"""The public import paths; those that end in a component with an underscore are private."""

_HEAD: Final = """\
# Public names

Everything that you may import. A path with a component that begins with an underscore is private, and may
change at any time. The lines come from the docstrings; in a checkout, `python -m tests.docs.api_page` writes
this page.
"""


def page() -> str:
    """The text of the page, from the sources."""
    return "\n".join([_HEAD, *(_section(path, about) for path, about in PATHS.items() if _names(path))])


def _section(path: str, about: str) -> str:
    rows = "\n".join(f"| `{name}` | {_line(_listing(path), name)} |" for name in _names(path))
    return f"## `{path}`\n\n{about}\n\n| name | |\n|---|---|\n{rows}\n"


def _names(path: str) -> list[str]:
    """What a package exports."""
    for each in _tree(_listing(path)).body:
        match each:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.expr() as names):
                return list(ast.literal_eval(names))
            case ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as names):
                return list(ast.literal_eval(names))
            case _:
                pass
    raise LookupError(f"{path} has no __all__")


def _listing(path: str) -> str:
    """The module in which a package lists its names: `_public` at the root of each."""
    return f"{path}._public" if _file(f"{path}._public").exists() else path


def _line(module: str, name: str) -> str:
    """The first line of a docstring, from the module that defines the name."""
    tree = _tree(module)
    for each, behind in zip_longest(tree.body, tree.body[1:]):
        match each:
            case (
                ast.ClassDef(name=found) | ast.FunctionDef(name=found) | ast.AsyncFunctionDef(name=found)
            ) if found == name:
                # An overload has no docstring; the function behind it does.
                if docstring := ast.get_docstring(each):
                    return _as_markdown(docstring)
            case (
                ast.Assign(targets=[ast.Name(id=found)], value=ast.expr() as value)
                | ast.AnnAssign(target=ast.Name(id=found), value=ast.expr() as value)
            ) if found == name:
                match behind:
                    case ast.Expr(value=ast.Constant(value=str(text))):  # the docstring of an assignment
                        return _as_markdown(text)
                    case _:
                        return f"One of {', '.join(f'`{one}`' for one in ast.unparse(value).split(' | '))}."
            case _:
                pass
    # What is imported only for type checkers is loaded on demand.
    for each in ast.walk(tree):
        match each:
            case ast.ImportFrom(module=str(source), names=names):
                for one in (alias for alias in names if (alias.asname or alias.name) == name):
                    inner = f"{source}.{one.name}"
                    if _file(inner).exists():  # a module
                        return _as_markdown(str(ast.get_docstring(_tree(inner))))
                    return _line(_listing(source), one.name)
            case _:
                pass
    raise LookupError(f"{module} does not define {name}")


def _as_markdown(docstring: str) -> str:
    """The first line, with Sphinx's roles and double backquotes as Markdown's code."""
    line = docstring.strip().partition("\n")[0].replace("|", "\\|")
    # :class:`~toolreel.x.Name` is shown as `Name`.
    return re.sub(r":\w+:`~?(?:\w+\.)*(\w+)`", r"`\1`", line.replace("``", "`"))


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(_file(module).read_text("utf-8"))


def _file(module: str) -> Path:
    folder = ROOT / ("domain" if module.partition(".")[0] == "toolreel_core" else "adapters")
    path = folder.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
