"""Runs of a small adding machine, recorded in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from toolreel.jsontext import Json
from toolreel.plan import Plan
from toolreel_adapters.approving import Later
from toolreel_adapters.clock import InstantClock
from toolreel_adapters.drive import run
from toolreel_adapters.journal import MemoryJournal, Recorded, parse_journal
from toolreel_adapters.perform import Ports
from toolreel_adapters.ports import Approver
from toolreel_adapters.python_tools import Given, PythonTools, Tool
from toolreel_adapters.scripted import Lost, ScriptedEndpoint, calling, saying

__all__ = ["ADDING", "NEEDS_APPROVAL", "SUM", "add", "adding", "asking_first", "recorded"]


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


ADDING: Final = Plan.of(model="m", messages="What is 2 + 40, plus 1?", tools=PythonTools([add]).surface)
SUM: Final = (calling(("add", {"a": 2, "b": 40})), calling(("add", {"a": 42, "b": 1})), saying("It is 43."))
"""Two calls in two turns, and the answer: five events."""


def adding(**settings: Json) -> Plan:
    """The plan with other settings of the loop."""
    return replace(ADDING, config=ADDING.config.of(settings))


def asking_first() -> list[Given]:
    """The adding machine as a tool that needs approval."""
    return [Tool.of(add, needs_approval=True)]


NEEDS_APPROVAL: Final = replace(ADDING, tools=PythonTools(asking_first()).surface)


def recorded(
    script: Iterable[str | Mapping[str, Json] | Lost] = SUM,
    plan: Plan = ADDING,
    *,
    tools: Iterable[Given] = (add,),
    approver: Approver | None = None,
    source: str = "here",
) -> Recorded:
    """What a run with these replies leaves behind."""
    journal = MemoryJournal(plan)
    ports = Ports(ScriptedEndpoint(script), PythonTools(tools), approver or Later(), InstantClock())
    run(plan, ports, journal=journal)
    return parse_journal(journal.text, source)
