"""Write docs/codes.md, every name and code of a run: ``python -m tests.docs.codes_page``."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final, get_args

from toolreel_core._protocol import Note, Outcome, type_name
from toolreel_core._replies import ERROR_WORDS, PROBLEM_WORDS, WORDS
from toolreel_core._tools import results as faults

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "docs" / "codes.md"

HOST_CODES: Final[Mapping[str, str]] = {
    "ARGUMENT_ERROR": "The tool rejected an argument, with `ToolError` or by its own checks.",
    "INTERNAL_ERROR": "The tool raised another exception, or its host failed; the message is not shown.",
    "TOOL_ERROR": "An MCP server, an HTTP operation or a script reported an error.",
    "TOOL_TIMEOUT": "The tool exceeded its time limit.",
    "TOOL_UNAVAILABLE": "The tool's server could not be reached, or the connection failed.",
}
"""Codes of tool hosts, which are adapters: the core takes any code from them."""

_HEAD: Final = """\
# Names and codes

The names of outcomes, notes, warnings, problems and tool errors in records, reports and assertions. They are
stable; the sentences may change. The lines come from the code; in a checkout,
`python -m tests.docs.codes_page` writes this page.
"""


def page() -> str:
    """The text of the page, from the sources."""
    return "\n".join(
        (
            _HEAD,
            _section(
                "Outcomes",
                "A run ends with exactly one. `run.outcome.name` is its name; "
                "`assert_reel(run).ended(name)` checks it.",
                ((kind.name, f"`{kind.__name__}`: {_first_line(kind)}") for kind in get_args(Outcome)),
            ),
            _section(
                "Notes",
                "What a run logs. `run.notes` has them, `from toolreel_core import notes` their classes; "
                "`assert_reel(run).noted(name)` and `.never_noted(name)` check them.",
                ((type_name(kind), f"`{kind.__name__}`: {_first_line(kind)}") for kind in get_args(Note)),
            ),
            _section(
                "Warnings and repairs",
                "What was wrong in a reply, and what was done about it. They are the `code` of the note "
                "`repair_applied`, and the warnings in `Reply.warnings` and `toolreel normalize`.",
                WORDS.items(),
            ),
            _section(
                "Problems of a reply",
                "Why a reply as a whole could not be used: `problem` of the note `reply_read` and of the "
                "outcome `invalid_reply`.",
                PROBLEM_WORDS.items(),
            ),
            _section(
                "Problems of arguments",
                "Why the arguments of a call could not be parsed, in `toolreel normalize` and "
                "`ToolCall.arguments`. A run makes them one of the tool errors below.",
                ERROR_WORDS.items(),
            ),
            _section(
                "Tool errors of the loop",
                "Why the loop rejected a call or replaced its result: `code` of the note `call_rejected`, "
                "`codes` of `call_ended`, and `errors` in the result that the model reads.",
                _faults(),
            ),
            _section(
                "Tool errors of hosts",
                "Codes of tools that ran: `codes` of the note `call_ended`, and `errors` in the result. "
                "A tool may add its own codes with `ToolError(message, code)`.",
                HOST_CODES.items(),
            ),
        )
    )


def _section(title: str, about: str, rows: Iterable[tuple[str, str]]) -> str:
    table = "\n".join(f"| `{name}` | {_as_markdown(meaning)} |" for name, meaning in rows)
    return f"## {title}\n\n{about}\n\n| name | meaning |\n|---|---|\n{table}\n"


def _first_line(kind: type) -> str:
    return (inspect.getdoc(kind) or "").partition("\n")[0]


def _faults() -> Iterator[tuple[str, str]]:
    """Each code of the loop, with the docstrings of the functions that make a fault of it."""
    meanings: dict[str, list[str]] = {code: [] for code in get_args(faults.FaultCode)}
    body = ast.parse(inspect.getsource(faults)).body
    for statement, following in pairwise(body):
        match statement, following:
            case ast.FunctionDef(), _:
                docstring = (ast.get_docstring(statement) or "").partition("\n")[0]
            case ast.AnnAssign(), ast.Expr(value=ast.Constant(value=str(docstring))):
                pass
            case _:
                continue
        codes = {
            node.args[0].value
            for node in ast.walk(statement)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {"Fault", "_fault"}
            and isinstance(node.args[0], ast.Constant)
        }
        for code in codes:
            meanings[str(code)].append(docstring)
    return ((code, " Or: ".join(lines)) for code, lines in meanings.items())


def _as_markdown(text: str) -> str:
    """Sphinx's double backquotes as Markdown's code; a bar would end the cell."""
    return re.sub(r"``([^`]+)``", r"`\1`", text).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
