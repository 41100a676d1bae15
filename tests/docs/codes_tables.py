"""The tables of docs/codes.md: every name and code of a run."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, get_args

from toolreel_core._protocol import Note, Outcome, type_name
from toolreel_core._replies import ERROR_WORDS, PROBLEM_WORDS, WARNING_SENTENCES
from toolreel_core._tools import results as faults


def _table(rows: Iterable[tuple[str, str]]) -> str:
    lines = (f"| `{name}` | {_as_markdown(meaning)} |" for name, meaning in rows)
    return "\n".join(("| name | meaning |", "|---|---|", *lines))


def _as_markdown(text: str) -> str:
    """Sphinx's double backquotes as Markdown's code; a bar would end the cell."""
    return re.sub(r"``([^`]+)``", r"`\1`", text).replace("|", "\\|")


def _classes(kinds: object, name: Callable[[Any], str]) -> Callable[[], str]:
    """Classes with the first line of their docstrings."""
    return lambda: _table(
        (name(kind), f"`{kind.__name__}`: {(inspect.getdoc(kind) or '').splitlines()[0]}")
        for kind in get_args(kinds)
    )


def _faults() -> Iterator[tuple[str, str]]:
    """Each code of the loop, with the docstrings of the functions that make a fault of it."""
    meanings: dict[str, list[str]] = {code: [] for code in get_args(faults.FaultCode)}
    body = ast.parse(inspect.getsource(faults)).body
    for statement, following in pairwise(body):
        match statement, following:
            case ast.FunctionDef(), _:
                docstring = (ast.get_docstring(statement) or "").partition("\n")[0]
            case ast.Assign(), ast.Expr(value=ast.Constant(value=str(docstring))):
                pass
            case _:
                continue
        codes = {
            node.args[0].value
            for node in ast.walk(statement)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {"Fault", "_fault_maker"}
            and isinstance(node.args[0], ast.Constant)
        }
        for code in codes:
            meanings[str(code)].append(docstring)
    return ((code, " Or: ".join(lines)) for code, lines in meanings.items())


TABLES: Mapping[str, Callable[[], str]] = {
    "outcomes": _classes(Outcome, lambda kind: str(kind.name)),
    "notes": _classes(Note, type_name),
    "warnings": lambda: _table(WARNING_SENTENCES.items()),
    "problems": lambda: _table(PROBLEM_WORDS.items()),
    "arguments": lambda: _table(ERROR_WORDS.items()),
    "faults": lambda: _table(_faults()),
}
