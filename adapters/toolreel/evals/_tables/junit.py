"""JUnit XML, as build servers read it: a test case for each gate, and one for being complete."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from typing import Final, assert_never

from toolreel_core.evals import Gate, GateResult, NoRegression, NoWorseThan, Threshold

_UNFIT: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, not even spelt as a reference."""
_ELEMENTS: Final = {"failed": "failure", "undecided": "error"}
"""What the case of a gate has in it that did not pass."""


def as_junit(results: Iterable[GateResult], why_incomplete: str) -> str:
    """A file with the gates of an evaluation; what lacks runs or is undecided is an error.

    :param why_incomplete: empty if all runs were made
    """
    complete = ("evaluation", "complete", "error" if why_incomplete else "", why_incomplete)
    gates = [
        ("gates", _gate_name(one.gate), _ELEMENTS.get(one.standing, ""), one.sentence) for one in results
    ]
    cases = [complete, *gates]
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(element == "failure" for _, _, element, _ in cases)),
        "errors": str(sum(element == "error" for _, _, element, _ in cases)),
    }
    root = ET.Element("testsuites", {"name": "toolreel eval", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": "gates", **counts})
    for group, name, element, message in cases:
        case = ET.SubElement(suite, "testcase", {"classname": group, "name": _fit(name)})
        if element:
            ET.SubElement(case, element, {"message": _fit(message)})
        elif message:
            ET.SubElement(case, "system-out").text = _fit(message)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _fit(text: str) -> str:
    """The text with what XML cannot hold spelt out."""
    return _UNFIT.sub(lambda found: ascii(found[0])[1:-1], text)


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
