"""Make the page of runs, from their recordings or from memory, and write it.

The runs of agents that are tools are found by the keys of their calls: each is a recording of its own.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from html import escape
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from toolreel._driver import Run
from toolreel._internal import AdapterError, show
from toolreel._journal import Source, companion, opened
from toolreel._replay.explain.run_diff import diff
from toolreel._replay.run_page.page import page_of_runs
from toolreel._replay.run_page.run_tree import RunTree, kept_tree, traced_tree
from toolreel._replay.trace import Trace, retrace
from toolreel_core._errors import ReplayMismatch
from toolreel_core._protocol import RunTool


def with_inner_runs(traces: Iterable[tuple[str, Trace]], folder: Path | None) -> list[RunTree]:
    """Runs with those of the agents that they called, at any depth.

    :param traces: the runs and their names
    :param folder: where their recordings are, which are in it or in a folder below; ``None`` without any
    """
    runs = [(traced_tree(trace, name), trace) for name, trace in traces]
    at = 0
    while folder is not None and at < len(runs):
        known = {run.key for run, _ in runs}
        for key, name, trace in _inner(runs[at][1], folder):
            if key not in known:
                runs.append((replace(traced_tree(trace, name), key=key, parent=at), trace))
        at += 1
    return [run for run, _ in runs]


def _inner(outer: Trace, folder: Path) -> Iterator[tuple[str, str, Trace]]:
    """The recorded inner runs of a run, with the key and a name of each."""
    for traced in outer.events:
        key = traced.effect.key if isinstance(traced.effect, RunTool) else ""
        name = f"{glob.escape(key)}.journal.jsonl"
        for path in [*folder.glob(name), *folder.glob(f"*/{name}")][:1] if key else ():
            try:
                trace = retrace(opened(path))
            except (AdapterError, ReplayMismatch):
                # The outer run has its result; a recording that cannot be read is no part of the page.
                continue
            yield key, path.relative_to(folder).as_posix().removesuffix(".journal.jsonl"), trace


_EMBEDDED: Final = 500_000
"""Characters of a page that a notebook keeps at most, each time that it shows a run."""


def page_of(source: Source, other: Source | None = None) -> str:
    """The page of a recorded run, or of two side by side.

    :param source: a record, or the path of a journal or a cassette; of a cassette without a journal, the page
        has all runs in it
    :raises AdapterError: if one of them cannot be read
    :raises toolreel.ReplayMismatch: if one of them no longer replays
    """
    if other is None:
        folder = None if not isinstance(source, Path | str) else Path(source).parent
        return page_of_runs(with_inner_runs(_traces(source), folder))
    difference = diff(source, other)
    named = zip((source, other), _names_of_two(source, other), strict=True)
    runs = [traced_tree(retrace(opened(each)), name) for each, name in named]
    return page_of_runs(runs, difference.tree())


def page_in_memory(run: Run, recording: Path | None, shown: Callable[[str], str]) -> str:
    """The page of a run: from its recording if that has this run, else from what the run keeps.

    :param recording: the path of its cassette
    :param shown: takes what nobody shall see out of a text
    """
    if recording is not None:
        try:
            trace = retrace(opened(companion(recording)))
        except (AdapterError, ReplayMismatch):
            trace = None
        if trace is not None and trace.run.state == run.state:
            return page_of_runs(with_inner_runs([(name_of(recording), trace)], recording.parent))
    return page_of_runs([kept_tree(run, "run").cleaned(shown)])


def view_run(
    run: Run, recording: Path | None, file: Path | str | None, shown: Callable[[str], str], *, opens: bool
) -> Path:
    """Write the page of a run, and open it.

    :param file: where to; by default a file in a new temporary folder
    """
    path = Path(mkdtemp(prefix="toolreel-")) / "run.html" if file is None else Path(file)
    write_page(path, page_in_memory(run, recording, shown))
    if opens:
        show(path.resolve().as_uri())
    return path


def in_notebook(run: Run, recording: Path | None, shown: Callable[[str], str]) -> str:
    """The page of a run within that of a notebook; of a large one, how to open it.

    It is a frame of its own, whose scripts cannot reach the notebook.
    """
    page = page_in_memory(run, recording, shown)
    if len(page) > _EMBEDDED:
        return "<p>The page of this run is large: <code>run.view()</code> opens it.</p>"
    style = "width:100%;height:40rem;border:0"
    frame = f'<iframe title="run" sandbox="allow-scripts" style="{style}" srcdoc="{escape(page)}"></iframe>'
    return f"<details><summary>turn by turn</summary>{frame}</details>"


def write_page(path: Path, page: str) -> None:
    """Write a page to a file.

    :raises AdapterError: if that is not possible
    """
    try:
        path.write_text(page, "utf-8")
    except OSError as error:
        raise AdapterError(f"{path}: the page cannot be written there: {error.strerror}") from None


def _names_of_two(source: Source, other: Source) -> tuple[str, str]:
    """The names of two recordings, with their folders where they would be the same."""
    names = name_of(source), name_of(other)
    if names[0] != names[1]:
        return names
    first, second = (f"{_path_of(each).parent.name}/{name_of(each)}" for each in (source, other))
    return first, second


def _path_of(source: Source) -> Path:
    return Path(source.source if not isinstance(source, Path | str) else source)


def name_of(source: Source) -> str:
    """What a page calls a recording: a relative path as it is, of another the name; pages are passed on."""
    path = _path_of(source)
    shown = path.name if path.is_absolute() else path.as_posix()
    return shown.removesuffix(".journal.jsonl").removesuffix(".yaml")


def _traces(source: Source) -> Iterator[tuple[str, Trace]]:
    if isinstance(source, Path | str) and (cassette := _foreign(Path(source))) is not None:
        from toolreel._replay.recovered_runs import recover_runs
        from toolreel.cassette import Recording

        for run in recover_runs(Recording.load(cassette)):
            yield name_of(source), retrace(run.recorded)
        return
    yield name_of(source), retrace(opened(source))


def _foreign(path: Path) -> Path | None:
    """The path of a cassette that has no journal: one of another client."""
    cassette = path if path.suffix == ".yaml" else path.with_name(f"{path.name}.yaml")
    return cassette if cassette.is_file() and not companion(cassette).exists() else None
