"""JUnit XML, as build servers read it: suites of test cases."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, assert_never

from toolreel.evals._summary.comparison import Comparison
from toolreel.evals._summary.run_pairs import Match
from toolreel_core.evals._plan.cells import Cell
from toolreel_core.evals._statistics.gates import Gate, GateResult, NoRegression, NoWorseThan, Threshold
from toolreel_core.evals._summary.summary import CellSummary, Summary

Standing: TypeAlias = Literal["passed", "failure", "error", "skipped"]

_UNFIT: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, not even spelt as a reference."""


@dataclass(frozen=True, slots=True)
class Case:
    """One test case."""

    group: str
    name: str
    standing: Standing
    message: str = ""
    details: tuple[str, ...] = ()
    seconds: float = 0.0


def as_junit(suites: Iterable[tuple[str, Sequence[Case]]], output: Iterable[str] = ()) -> str:
    """A file with a suite for each group of cases; suites without a case are left out.

    :param output: lines that stand below the last suite
    """
    given = [(name, cases) for name, cases in suites if cases]
    root = ET.Element("testsuites", _counted("toolreel eval", [case for _, cases in given for case in cases]))
    for name, cases in given:
        suite = ET.SubElement(root, "testsuite", _counted(name, cases))
        for case in cases:
            _add(suite, case)
    if lines := _fit("\n".join(output)):
        ET.SubElement(root[-1], "system-out").text = lines
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _counted(name: str, cases: Sequence[Case]) -> dict[str, str]:
    standings = [case.standing for case in cases]
    return {
        "name": name,
        "tests": str(len(cases)),
        "failures": str(standings.count("failure")),
        "errors": str(standings.count("error")),
        "skipped": str(standings.count("skipped")),
        "time": f"{sum(case.seconds for case in cases):.3f}",
    }


def _add(suite: ET.Element, case: Case) -> None:
    named = {"classname": _fit(case.group), "name": _fit(case.name), "time": f"{case.seconds:.3f}"}
    element, details = ET.SubElement(suite, "testcase", named), _fit("\n".join(case.details))
    if case.standing == "passed":
        message = "\n".join(filter(None, (_fit(case.message), details)))
        if message:
            ET.SubElement(element, "system-out").text = message
        return
    ET.SubElement(element, case.standing, {"message": _fit(case.message)}).text = details


def _fit(text: str) -> str:
    """The text with what XML cannot hold spelt out."""
    return _UNFIT.sub(lambda found: ascii(found[0])[1:-1], text)


def cell_cases(summary: Summary) -> tuple[Case, ...]:
    """The cells: failed if a run failed, in error if one is void, skipped if the model cannot run it.

    Void runs that are accepted are no error; a cell that has no other is skipped.
    """
    return tuple(_cell(cell, sum(map(summary.accepts, cell.entries))) for cell in summary.cells)


def match_cases(comparison: Comparison) -> tuple[Case, ...]:
    """The cells of a comparison: failed if the second side lost more of its trials than it gained."""
    cells: dict[Cell, list[Match]] = {}
    for match in comparison.matches.both:
        cells.setdefault(match.second.cell, []).append(match)
    return tuple(_compared(cell, matches) for cell, matches in cells.items())


def completeness_case(why_not: str) -> Case:
    """Whether all runs were made; an evaluation that lacks some is an error.

    :param why_not: empty if they were
    """
    return Case("evaluation", "complete", "error" if why_not else "passed", why_not)


def case_lines(cases: Iterable[Case]) -> Iterable[str]:
    """Cases as text, for those who look for what is behind a gate."""
    for case in cases:
        yield f"{case.standing}: {case.group} {case.name}: {case.message}"
        yield from (f"    {line}" for line in case.details)


def gate_cases(results: Iterable[GateResult]) -> tuple[Case, ...]:
    """The gates; an undecided one is an error."""
    standings: dict[str, Standing] = {"passed": "passed", "failed": "failure", "undecided": "error"}
    return tuple(
        Case("gates", _gate_name(one.gate), standings[one.standing], one.sentence) for one in results
    )


def _gate_name(gate: Gate) -> str:
    match gate:
        case Threshold():
            group = "".join(f" of {part}" for part in gate.about if part)
            return f"{gate.metric}{group} {gate.side.replace('_', ' ')} {gate.limit:g}"
        case NoRegression():
            return f"no regression of {gate.strategy} against {gate.against}"
        case NoWorseThan():
            return f"{gate.strategy} at most {gate.margin:g} worse than {gate.against}"
        case _:
            assert_never(gate)


def _cell(cell: CellSummary, accepted: int) -> Case:
    counts = cell.counts
    message = f"{counts.ok} of {counts.valid} valid runs passed"
    message += f", {counts.void} void" if counts.void else ""
    message += f" ({accepted} accepted)" if accepted else ""
    message += f", {counts.unsupported} unsupported" if counts.unsupported else ""
    standing: Standing = (
        "failure"
        if counts.failed
        else "error"
        if counts.void > accepted
        else "passed"
        if counts.valid
        else "skipped"
    )
    details = tuple(
        f"trial {entry.trial}: {entry.error} ({entry.cassette or entry.key})"
        for entry in cell.entries
        if not entry.ok
    )
    seconds = sum(entry.ms for entry in cell.entries) / 1000
    return Case(".".join(cell.cell.task), cell.cell.scenario, standing, message, details, seconds)


def _compared(cell: Cell, matches: Sequence[Match]) -> Case:
    gained, lost = ([match for match in matches if match.flip == flip] for flip in ("gained", "lost"))
    valid = sum(match.valid for match in matches)
    standing: Standing = "failure" if len(lost) > len(gained) else "passed" if valid else "skipped"
    message = f"{valid} pairs, {len(gained)} gained, {len(lost)} lost"
    details = tuple(
        f"trial {match.second.trial}: {match.second.error} ({match.second.cassette or match.second.key})"
        for match in lost
    )
    seconds = sum(match.second.ms for match in matches) / 1000
    return Case(".".join(cell.task), cell.scenario, standing, message, details, seconds)
