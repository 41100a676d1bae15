"""Runs of a small adding machine, recorded in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from toolreel._driver import Approver, InstantClock, Later, Ports, run
from toolreel._journal import MemoryJournal, Recorded, parse_journal
from toolreel.testing import Lost, ScriptedEndpoint, calling, saying
from toolreel.tools import PythonTools, Tool, ToolLike
from toolreel_core._jsontext import Json
from toolreel_core._plan import Plan


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


ADDING = Plan.of(model="m", messages="What is 2 + 40, plus 1?", tools=PythonTools([add]).surface)
SUM = (calling(("add", {"a": 2, "b": 40})), calling(("add", {"a": 42, "b": 1})), saying("It is 43."))
"""Two calls in two turns, and the answer: five events."""


def adding(**settings: Json) -> Plan:
    """The plan with other settings of the loop."""
    return replace(ADDING, config=ADDING.config.of(settings))


def asking_first() -> list[ToolLike]:
    """The adding machine as a tool that needs approval."""
    return [Tool.of(add, needs_approval=True)]


NEEDS_APPROVAL = replace(ADDING, tools=PythonTools(asking_first()).surface)


def recorded(
    script: Iterable[str | Mapping[str, Json] | Lost] = SUM,
    plan: Plan = ADDING,
    *,
    tools: Iterable[ToolLike] = (add,),
    approver: Approver | None = None,
    source: str = "here",
) -> Recorded:
    """What a run with these replies leaves behind."""
    journal = MemoryJournal(plan)
    ports = Ports(ScriptedEndpoint(script), PythonTools(tools), approver or Later(), InstantClock())
    run(plan, ports, journal=journal)
    return parse_journal(journal.text, source)
