"""The runs of agents that are tools, found by the keys of their calls: each is a recording of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from glob import escape
from pathlib import Path

from toolreel._internal import AdapterError
from toolreel._journal import opened
from toolreel._replay.run_page.page import PageRun
from toolreel._replay.run_page.run_tree import traced_tree
from toolreel._replay.trace import Trace, retrace
from toolreel_core._errors import ReplayMismatch
from toolreel_core._protocol import RunTool


def with_inner_runs(traces: Iterable[tuple[str, Trace]], folder: Path | None) -> list[PageRun]:
    """Runs with those of the agents that they called, at any depth.

    :param traces: the runs and their names
    :param folder: where their recordings are, which are in it or in a folder below; ``None`` without any
    """
    runs = [(PageRun(traced_tree(trace, name)), trace) for name, trace in traces]
    at = 0
    while folder is not None and at < len(runs):
        known = {run.key for run, _ in runs}
        for key, name, trace in _inner(runs[at][1], folder):
            if key not in known:
                runs.append((PageRun(traced_tree(trace, name), key, at), trace))
        at += 1
    return [run for run, _ in runs]


def _inner(outer: Trace, folder: Path) -> Iterator[tuple[str, str, Trace]]:
    """The recorded inner runs of a run, with the key and a name of each."""
    for traced in outer.events:
        key = traced.effect.key if isinstance(traced.effect, RunTool) else ""
        for path in _recordings(folder, key) if key else ():
            try:
                trace = retrace(opened(path))
            except (AdapterError, ReplayMismatch):
                # The outer run has its result; a recording that cannot be read is no part of the page.
                continue
            yield key, path.relative_to(folder).as_posix().removesuffix(".journal.jsonl"), trace


def _recordings(folder: Path, key: str) -> list[Path]:
    name = f"{escape(key)}.journal.jsonl"
    return [*folder.glob(name), *folder.glob(f"*/{name}")][:1]
