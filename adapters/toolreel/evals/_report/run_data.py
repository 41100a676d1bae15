"""All runs as data in the page: an index of them, and their transcripts cell by cell, each packed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from toolreel._internal import json_element, packed, packed_element, shortened
from toolreel.evals._report.transcripts import LONGEST
from toolreel.evals._summary.run_pairs import AXES
from toolreel.evals._tables.formats import RESULTS
from toolreel_core._jsontext import Json, chain
from toolreel_core.evals import Cell, CellSummary, EvalPlan, Summary

LIMIT: Final = 14_000_000
"""Bytes of all transcripts; above it, their texts are shortened until they fit."""
_SHORTER: Final = (1_000, 240, 60)
_REASON: Final = 300
_SCENARIO: Final = "scenario"
_DIGITS: Final = 12


def run_name(key: str) -> str:
    """The name of a run in links and commands: the beginning of its key."""
    return key[:_DIGITS]


def cell_name(cell: Cell) -> str:
    """The name of a cell in links; the same on every page of the same plan."""
    return chain("report cell", *cell.task, cell.scenario)[:_DIGITS]


@dataclass(frozen=True, slots=True)
class RunData:
    """The elements of a page that hold its runs."""

    elements: tuple[str, ...]
    longest: int
    """Characters of a text that are kept at most."""


def run_data(
    summary: Summary,
    plan: EvalPlan,
    trees: Mapping[str, Json],
    folder: str,
    limit: int = LIMIT,
) -> RunData:
    """The runs of an evaluation.

    :param trees: of the transcripts that there are, by the key of their run
    :param folder: what commands call the directory of the results
    """
    told = [_told(cell, trees) for cell in summary.cells]
    longest, texts = LONGEST, [packed(each) if each else "" for each in told]
    for longest in (LONGEST, *_SHORTER):
        texts = [packed(shortened(each, longest)) if each else "" for each in told]
        if sum(map(len, texts)) <= limit:
            break
    index = json_element("run-index", _index(summary, plan, trees, folder))
    cells = (packed_element(f"cell-{at}", text) for at, text in enumerate(texts) if text)
    return RunData((index, *cells), longest)


def _told(cell: CellSummary, trees: Mapping[str, Json]) -> Json:
    return {run_name(entry.key): trees[entry.key] for entry in cell.entries if entry.key in trees}


class _Numbers:
    """Numbers of values in the order in which they came; most texts of an index are in many runs."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._known = {value: at for at, value in enumerate(dict.fromkeys(values))}

    def of(self, value: str) -> int:
        """The number of a value, which is noted."""
        return self._known.setdefault(value, len(self._known))

    @property
    def values(self) -> list[Json]:
        """All values by number."""
        return [*self._known]


def _index(summary: Summary, plan: EvalPlan, trees: Mapping[str, Json], folder: str) -> dict[str, Json]:
    axes = (_SCENARIO, *AXES)
    order = (each.name for each in plan.scenarios)
    values = {axis: _Numbers(order if axis == _SCENARIO else ()) for axis in axes}
    cells: list[Json] = [
        [cell_name(cell.cell), *(values[axis].of(str(getattr(cell.cell, axis))) for axis in axes)]
        for cell in summary.cells
    ]
    texts = _Numbers()
    runs = [*_runs(summary.cells, texts, trees)]
    return {
        "folder": folder,
        "axes": [*axes],
        "values": {axis: values[axis].values for axis in axes},
        "packs": {each.name: each.pack for each in plan.scenarios},
        "results": dict(RESULTS.items()),
        "cells": cells,
        "runs": runs,
        "texts": texts.values,
    }


def _runs(cells: Sequence[CellSummary], texts: _Numbers, trees: Mapping[str, Json]) -> Iterator[Json]:
    """Each run; last, whether the page tells it turn by turn, and whether it was recorded."""
    for at, cell in enumerate(cells):
        for entry in cell.entries:
            said = (
                texts.of(text if len(text) <= _REASON else f"{text[:_REASON]} …")
                for text in (entry.category, entry.reason, entry.hint)
            )
            told = (int(entry.key in trees), int(bool(entry.cassette)))
            yield [at, entry.trial, run_name(entry.key), entry.result, *said, *told]
