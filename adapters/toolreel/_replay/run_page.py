"""The pages, each a self-contained HTML file: runs as packed data, the list of recordings, a message."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from pathlib import Path
from tempfile import mkdtemp

from toolreel._driver import Run
from toolreel._internal import (
    AdapterError,
    compressed_element,
    compressed_json,
    json_script_element,
    map_tree_texts,
    open_in_browser,
    printable_text,
    read_asset_text,
    standalone_page,
    with_shortened_texts,
)
from toolreel._journal import RunSource, journal_path, load_recorded_run
from toolreel._replay.run_diff import diff
from toolreel._replay.run_tree import RunTree, conversation_tree, recorded_run_tree
from toolreel._replay.trace import Trace, retrace
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import Json
from toolreel_core._protocol import RunTool

LIMIT = 14_000_000
"""Bytes of all data; above it, texts are shortened until they fit."""
_LONGEST = (20_000, 2_000, 400, 80)
"""Characters of a text: each length is tried in turn, until the data fits."""
_TURNS = 20
"""Turns that are unpacked together."""
_ITEMS = 100
"""Messages that are unpacked together."""


def runs_page(runs: Sequence[RunTree], comparison: Json = None, limit: int = LIMIT) -> str:
    """The page of a run with its inner runs, or of two that are compared.

    :param comparison: what differs between the first two
    :param limit: bytes of the data, above which long texts are cut
    """
    elements = [*_script_elements(runs)]
    for longest in _LONGEST:
        if sum(map(len, elements)) <= limit:
            break
        shorter = partial(with_shortened_texts, longest=longest)
        elements = [*_script_elements(run.map_values(shorter) for run in runs)]
    about: list[Json] = [
        {"key": each.key, "parent": each.parent, "quoted": shlex.quote(str(each.head["name"]))}
        for each in runs
    ]
    page = {"runs": about, "comparison": comparison, "turns": _TURNS, "items": _ITEMS}
    first = runs[0].head
    return standalone_page(
        f"{first['outcome']}: {first['title']}" if comparison is None else "Two runs, side by side",
        '<a class="skip" href="#turns">To the turns</a>\n<header id="head"></header>\n'
        "<noscript><p>The turns are shown by a script, which your browser does not run: "
        "<code>toolreel explain</code> says the same.</p></noscript>\n"
        '<main id="turns"></main>',
        styles=(read_asset_text("toolreel._replay", "page.css"),),
        scripts=(read_asset_text("toolreel._replay", "page.js"),),
        data=(json_script_element("page", page), *elements),
        pictures=True,
    )


def recordings_list_page(title: str) -> str:
    """The page with the list of recordings, which its script gets from the server and keeps up to date.

    :param title: what is listed, such as the name of a directory
    """
    body = (
        '<a class="skip" href="#recordings">To the list</a>\n'
        f"<header><h1>{escape(printable_text(title))}</h1></header>\n"
        "<noscript><p>The list is shown by a script, which your browser does not run.</p></noscript>\n"
        '<main id="recordings" class="listed"></main>'
    )
    return standalone_page(
        f"{title} – toolreel",
        body,
        styles=(read_asset_text("toolreel._replay", "page.css"),),
        scripts=(read_asset_text("toolreel._replay", "page.js"),),
        asks=True,
    )


def _script_elements(runs: Iterable[RunTree]) -> Iterator[str]:
    for number, run in enumerate(runs):
        yield json_script_element(f"run-{number}", run.head)
        turns: list[Json] = [[turn, steps] for turn, steps in run.steps]
        for name, values, size in (("turns", turns, _TURNS), ("items", run.items, _ITEMS)):
            for at, first in enumerate(range(0, len(values), size)):
                yield compressed_element(
                    f"run-{number}-{name}-{at}", compressed_json(values[first : first + size])
                )


def with_inner_runs(traces: Iterable[tuple[str, Trace]], folder: Path | None) -> list[RunTree]:
    """Runs with those of the agents that they called, at any depth.

    :param traces: the runs and their names
    :param folder: where their recordings are, which are in it or in a folder below; ``None`` without any
    """
    runs = [(recorded_run_tree(trace, name), trace) for name, trace in traces]
    for at, (_, outer) in enumerate(runs):  # which grows meanwhile
        known = {run.key for run, _ in runs}
        for key, name, trace in _load_inner_runs(outer, folder) if folder else ():
            if key not in known:
                runs.append((replace(recorded_run_tree(trace, name), key=key, parent=at), trace))
    return [run for run, _ in runs]


def _load_inner_runs(outer: Trace, folder: Path) -> Iterator[tuple[str, str, Trace]]:
    for traced in outer.events:
        key = traced.effect.key if isinstance(traced.effect, RunTool) else ""
        name = f"{glob.escape(key)}.journal.jsonl"
        for path in [*folder.glob(name), *folder.glob(f"*/{name}")][:1] if key else ():
            try:
                trace = retrace(load_recorded_run(path))
            except (AdapterError, ReplayMismatch):
                # The outer run has its result; a recording that cannot be read is not part of the page.
                continue
            yield key, path.relative_to(folder).as_posix().removesuffix(".journal.jsonl"), trace


_EMBEDDED = 500_000
"""Characters of a page that a notebook keeps at most, each time that it shows a run."""


def recording_page(source: RunSource, other: RunSource | None = None) -> str:
    """The page of a recording, or of two side by side.

    :param source: a record, or the path of a journal or a cassette; of a cassette without a journal, the page
        has all runs in it
    """
    if other is None:
        folder = None if not isinstance(source, Path | str) else Path(source).parent
        return runs_page(with_inner_runs(_named_traces(source), folder))
    difference = diff(source, other)
    runs = [
        recorded_run_tree(retrace(load_recorded_run(each)), recording_name(each)) for each in (source, other)
    ]
    return runs_page(runs, difference.tree())


def page_of_run(run: Run, recording: Path | None, shown: Callable[[str], str]) -> str:
    """The page of a run: from its recording if that has this run, else from what the run keeps.

    :param recording: the path of its cassette
    :param shown: takes what nobody shall see out of a text
    """
    if recording is not None:
        try:
            trace = retrace(load_recorded_run(journal_path(recording)))
        except (AdapterError, ReplayMismatch):
            trace = None
        if trace is not None and trace.run.state == run.state:
            return runs_page(with_inner_runs([(recording_name(recording), trace)], recording.parent))
    clean, tree = partial(map_tree_texts, change=shown), conversation_tree(run, "run")
    head = {key: clean(each) for key, each in tree.head.items()}
    return runs_page([replace(tree.map_values(clean), head=head)])


def view_run(
    run: Run, recording: Path | None, file: Path | str | None, shown: Callable[[str], str], *, opens: bool
) -> Path:
    """Write the page of a run, and open it.

    :param file: where to; by default a file in a new temporary folder
    """
    path = Path(mkdtemp(prefix="toolreel-")) / "run.html" if file is None else Path(file)
    write_page(path, page_of_run(run, recording, shown))
    if opens:
        open_in_browser(path.resolve().as_uri())
    return path


def notebook_html(run: Run, recording: Path | None, shown: Callable[[str], str]) -> str:
    """The page of a run as a frame within a notebook's, whose scripts cannot reach the notebook."""
    page = page_of_run(run, recording, shown)
    if len(page) > _EMBEDDED:
        return "<p>The page of this run is large: <code>run.view()</code> opens it.</p>"
    style = "width:100%;height:40rem;border:0"
    frame = f'<iframe title="run" sandbox="allow-scripts" style="{style}" srcdoc="{escape(page)}"></iframe>'
    return f"<details><summary>turn by turn</summary>{frame}</details>"


def write_page(path: Path, page: str) -> None:
    try:
        path.write_text(page, "utf-8")
    except OSError as error:
        raise AdapterError(f"{path}: the page cannot be written there: {error.strerror}") from None


def recording_name(source: RunSource) -> str:
    """What a page calls a recording: a relative path as it is, of another the name; pages are passed on."""
    path = Path(source.source if not isinstance(source, Path | str) else source)
    shown = path.name if path.is_absolute() else path.as_posix()
    return shown.removesuffix(".journal.jsonl").removesuffix(".yaml")


def _named_traces(source: RunSource) -> Iterator[tuple[str, Trace]]:
    if (
        isinstance(source, Path | str)
        and (cassette := _path_of_cassette_without_journal(Path(source))) is not None
    ):
        from toolreel._replay.recovered_runs import recover_runs
        from toolreel.cassette import Session

        for run in recover_runs(Session(cassette)):
            yield recording_name(source), retrace(run.recorded)
    else:
        yield recording_name(source), retrace(load_recorded_run(source))


def _path_of_cassette_without_journal(path: Path) -> Path | None:
    cassette = path if path.suffix == ".yaml" else path.with_name(f"{path.name}.yaml")
    return cassette if cassette.is_file() and not journal_path(cassette).exists() else None
