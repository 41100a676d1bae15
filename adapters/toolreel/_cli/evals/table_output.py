"""Tables, ``--markdown`` and ``--junit``, and the exit codes of gates, for commands that sum up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

import click

from toolreel._cli.console import out, printable
from toolreel._cli.errors import DRIFT
from toolreel.evals._store.results import write_atomically
from toolreel.evals._tables.table import TextTable, as_markdown, without_constant_columns
from toolreel_core._jsontext.canonical import Json
from toolreel_core.evals._statistics.gates import GateResult, overall_standing

if TYPE_CHECKING:
    from toolreel.evals._tables.junit import Case  # imports SciPy, which --help does not need


GATES_EPILOG: Final = (
    "Exit codes: 0 success, 1 a gate failed, 2 usage, 3 incomplete: runs are missing or void, "
    "or a gate is undecided."
)
FAILED: Final = 1

_Options = ParamSpec("_Options")
_Result = TypeVar("_Result")


def output_options(command: Callable[_Options, _Result]) -> Callable[_Options, _Result]:
    """The options ``--markdown``, ``--junit`` and ``--junit-cells``."""
    path = click.Path(dir_okay=False, path_type=Path)
    cells = "The same with a test case for each cell too, which fails if one of its runs did."
    command = click.option("--junit-cells", is_flag=True, help=cells)(command)
    for name, what in (
        ("--junit", "Write JUnit XML there: a test case for each gate, and one for being complete."),
        ("--markdown", "Write the tables there as Markdown."),
    ):
        command = click.option(name, type=path, metavar="FILE", help=what)(command)
    return command


def show_tables(lines: Iterable[str], tables: Iterable[TextTable]) -> None:
    """Print lines and tables; on a terminal, columns with one and the same value of little interest go."""
    for line in lines:
        out.print(printable(line))
    for table in tables:
        out.print()
        out.print(printable(table.title), style="bold blue")
        _show_table(without_constant_columns(table) if out.is_terminal else table)
        for note in table.notes:
            out.print(printable(note), style="dim")


def write_files(
    title: str,
    lines: Iterable[str],
    tables: Iterable[TextTable],
    markdown: Path | None,
) -> None:
    """Write what ``--markdown`` asks for.

    :raises ResultsError: if the file cannot be written
    """
    if markdown:
        write_atomically(markdown, as_markdown(title, lines, tables))


def write_junit(
    junit: Path | None,
    cells: Sequence[Case],
    results: Iterable[GateResult],
    why_incomplete: str,
    *,
    all_cells: bool,
) -> None:
    """Write what ``--junit`` asks for: green if and only if the gates pass, or with a case for each cell.

    :raises ResultsError: if the file cannot be written
    """
    if not junit:
        return
    from toolreel.evals._tables.junit import as_junit, case_lines, completeness_case, gate_cases

    gates = gate_cases(results)
    if all_cells:
        write_atomically(junit, as_junit((("cells", cells), ("gates", gates))))
    else:
        suite = "gates", (completeness_case(why_incomplete), *gates)
        write_atomically(junit, as_junit([suite], case_lines(cells)))


def judged_trees(results: Iterable[GateResult]) -> list[Json]:
    """The results of the gates."""
    return [{"standing": one.standing, "sentence": one.sentence} for one in results]


def exit_code(results: Sequence[GateResult], *, complete: bool) -> int:
    """The number that a command ends with."""
    standing = overall_standing(results)
    if standing == "failed":
        return FAILED
    return 0 if complete and standing == "passed" else DRIFT


def _show_table(table: TextTable) -> None:
    rows = [tuple(map(printable, row)) for row in table.rows]
    widths = [max(len(row[column]) for row in (table.head, *rows)) for column in range(len(table.head))]
    _print_row(table.head, widths)
    out.print("-|-".join("-" * width for width in widths))
    for row in rows:
        _print_row(row, widths)


def _print_row(row: Sequence[str], widths: Sequence[int]) -> None:
    line = " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
    out.print(line.rstrip())
