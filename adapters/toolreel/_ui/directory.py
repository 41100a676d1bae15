"""Recordings and evaluations in a directory: listed by their names, read when somebody wants to know."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolreel._driver.run_result import Run, cost_in_words
from toolreel._internal.errors import AdapterError
from toolreel._journal.format import Recorded, parse_journal, read_journal
from toolreel._ui.entry import Entry, Facts, Kind
from toolreel_core._errors import ToolreelError
from toolreel_core._loop.reducer import fold, pending
from toolreel_core._protocol.effects import AskApproval

_JOURNAL: Final = ".journal.jsonl"
_PART: Final = ".journal.jsonl.part"
_CASSETTE: Final = ".yaml"
_PASSED_OVER: Final = frozenset({"node_modules", "__pycache__"})
_OURS: Final = b"toolreel"
"""What the beginning of each cassette of ours has; other YAML files are not listed."""
_BEGINNING: Final = 400
_RUN: Final = ("model", "profile", "strategy", "fallback", "scenario", "endpoint", "trial")
"""What names one run in the journal of an evaluation."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file, or the directory of an evaluation."""

    kind: Kind
    name: str
    where: str
    """Its path, as text: making ten thousand paths takes longer than listing them."""
    modified_ns: int
    size: int

    @property
    def path(self) -> Path:
        """Its path."""
        return Path(self.where)

    @property
    def key(self) -> str:
        """That of its line."""
        return f"{self.kind}:{self.name}"

    @property
    def entry(self) -> Entry:
        """Its line, without what only its content says."""
        return Entry(self.kind, self.name, self.modified_ns // 1_000_000, self.size)


def found_in(root: Path) -> Iterator[Found]:
    """What there is below a directory; folders that begin with a dot and links to folders are passed over."""
    folders = [(str(root), "")]
    while folders:
        files: dict[str, os.DirEntry[str]] = {}
        below: list[tuple[str, str]] = []
        folder, prefix = folders.pop()
        try:
            with os.scandir(folder) as listed:
                for each in listed:
                    if each.is_dir(follow_symlinks=False):
                        if not each.name.startswith(".") and each.name not in _PASSED_OVER:
                            below.append((each.path, f"{prefix}{each.name}/"))
                    elif each.is_file():
                        files[each.name] = each
        except OSError:  # it was removed meanwhile, or is not ours to read
            continue
        if {"header.json", "journal.jsonl"} <= files.keys():
            name = prefix.removesuffix("/") or root.resolve().name
            yield from _found("evaluation", name, folder, files["journal.jsonl"])
            continue  # its recordings are in its report
        folders += below
        for stem, each in _recordings(files):
            yield from _found("recording", prefix + stem, each.path, each)


def _recordings(files: dict[str, os.DirEntry[str]]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Journals, those that are being written, and cassettes without one; each with its name."""
    for name, each in files.items():
        if name.endswith(_JOURNAL):
            yield name.removesuffix(_JOURNAL), each
        elif name.endswith(_PART):
            if name.removesuffix(".part") not in files:
                yield name.removesuffix(_PART), each
        elif name.endswith(_CASSETTE):
            stem = name.removesuffix(_CASSETTE)
            if f"{stem}{_JOURNAL}" not in files and f"{stem}{_PART}" not in files:
                yield stem, each


def _found(kind: Kind, name: str, where: str, file: os.DirEntry[str]) -> Iterator[Found]:
    try:
        there = file.stat()
    except OSError:
        return
    # A file name that is no UTF-8 could not be sent.
    shown = os.fsencode(name).decode("utf-8", "backslashreplace")
    yield Found(kind, shown, where, there.st_mtime_ns, there.st_size)


def facts_of(found: Found) -> Facts | None:
    """What an entry is about, from its content; ``None`` if it is no recording after all."""
    try:
        if found.kind == "evaluation":
            return _evaluation(found.path)
        if found.path.name.endswith(_CASSETTE):
            return _cassette(found.path)
        return facts_of_run(recorded_at(found.path), goes_on=found.path.name.endswith(".part"))
    except (ToolreelError, OSError, ValueError, RecursionError) as error:
        return Facts("unreadable", note=str(error).partition("\n")[0])


def recorded_at(path: Path) -> Recorded:
    """The journal in a file; of one that is being written, all whole lines.

    :raises AdapterError: if it cannot be read
    """
    if not path.name.endswith(".part"):
        return read_journal(path)
    whole, end, _ = path.read_text("utf-8").rpartition("\n")
    if not end:
        raise AdapterError(f"{path.name}: nothing is recorded yet")
    return parse_journal(whole + end, path.name)


def facts_of_run(recorded: Recorded, *, goes_on: bool) -> Facts:
    """What a journal says of its run."""
    state = fold(recorded.plan, recorded.events).state
    tally, outcome = state.tally, state.outcome
    if outcome is not None:
        shown = outcome.name
    elif any(isinstance(effect, AskApproval) for effect in pending(state)):
        shown = "waiting"
    else:
        shown = "recording" if goes_on else "resting"
    tokens = tally.prompt_tokens + tally.completion_tokens
    cost = cost_in_words(Run(state, ()))
    return Facts(shown, recorded.plan.model, tally.turns, tally.tool_calls, tokens, cost)


def _cassette(path: Path) -> Facts | None:
    with path.open("rb") as file:
        if _OURS not in file.read(_BEGINNING):
            return None
    return Facts("cassette", note="of another client, without a journal")


def _evaluation(path: Path) -> Facts:
    results: dict[tuple[object, ...], str] = {}
    models: set[str] = set()
    with (path / "journal.jsonl").open("rb") as lines:
        for line in lines:
            if not line.endswith(b"\n"):
                break  # being written
            tree = json.loads(line)
            # Of several records of a run, the last one counts.
            results[tuple(map(tree.get, _RUN))] = str(tree.get("result"))
            models.add(str(tree.get("model")))
    counts = ", ".join(f"{count} {name}" for name, count in sorted(Counter(results.values()).items()))
    made = len(results)
    return Facts(f"{made} run{'' if made == 1 else 's'}", ", ".join(sorted(models)), note=counts)
