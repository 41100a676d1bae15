"""JUnit XML, as build servers read it: suites of test cases."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

__all__ = ["Case", "Standing", "as_junit"]

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


def as_junit(suites: Iterable[tuple[str, Sequence[Case]]]) -> str:
    """A file with a suite for each group of cases; suites without a case are left out."""
    given = [(name, cases) for name, cases in suites if cases]
    root = ET.Element("testsuites", _counted("toolreel eval", [case for _, cases in given for case in cases]))
    for name, cases in given:
        suite = ET.SubElement(root, "testsuite", _counted(name, cases))
        for case in cases:
            _add(suite, case)
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
        told = "\n".join(filter(None, (_fit(case.message), details)))
        if told:
            ET.SubElement(element, "system-out").text = told
        return
    ET.SubElement(element, case.standing, {"message": _fit(case.message)}).text = details


def _fit(text: str) -> str:
    """The text with what XML cannot hold spelt out."""
    return _UNFIT.sub(lambda found: ascii(found[0])[1:-1], text)
