"""Directories of the reference harness, read as evaluations.

Its run files have no plan and no configuration of ours, so what can be done with them is what needs neither:
summaries, and what is made of summaries. Its error categories are read as ours, so its transport failures are
void here, and a pass without tools is unsupported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from toolreel._internal.errors import ResultsError
from toolreel.evals._runner.connection import new_header
from toolreel.evals._store.results import Journal, Results
from toolreel.presets._catalogues import with_files
from toolreel_core._errors import ConfigError
from toolreel_core._internal.name_registry import unknown_name
from toolreel_core._jsontext.canonical import Tree, canonical
from toolreel_core._jsontext.digest import chain, digest
from toolreel_core._plan.presets.collection import Presets
from toolreel_core.evals._plan.cells import Cell
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._plan.options import Options
from toolreel_core.evals._records.record import Attempt, Record, SentRequest
from toolreel_core.evals._scenarios.catalogue import SCENARIOS, select_scenarios
from toolreel_core.evals._scenarios.scenario import Scenario
from toolreel_core.evals._verdicts import CATEGORIES, Verdict, category

_SCENARIOS: Final = {one.name: one for one in SCENARIOS}
_REQUIRED: Final = ("model_base", "strategy", "sampling_profile", "scenario", "trial", "ok", "elapsed_ms")


@contextmanager
def opened_results(folder: Path) -> Generator[Results]:
    """The evaluation in a directory, or that of the reference harness in it.

    A directory of the reference is read into a temporary one, so nothing in it is changed.

    :raises ResultsError: if there is neither; names the file and the field that cannot be read
    """
    files = [] if (folder / "header.json").exists() else [*_run_files(folder)]
    if not files:
        yield Results.open(folder)
        return
    with TemporaryDirectory() as temporary:
        yield _converted(
            [_RunFile.read(path) for path in files], folder, Path(temporary) / folder.resolve().name
        )


def is_reference(folder: Path) -> bool:
    """Whether a directory has run files of the reference harness and no evaluation of ours."""
    return not (folder / "header.json").exists() and any(True for _ in _run_files(folder))


def _run_files(folder: Path) -> Iterator[Path]:
    """Its files of runs: all JSON that is no summary."""
    for path in sorted(folder.glob("*.json")):
        if not path.name.startswith("summary"):
            yield path


def _converted(runs: Sequence[_RunFile], folder: Path, target: Path) -> Results:
    plan = _plan(runs)
    with Journal(target, new_header(plan, _created(folder, runs))) as journal:
        for run in runs:
            journal.append(run.record())
    return Results.open(target)


def _plan(runs: Sequence[_RunFile]) -> EvalPlan:
    """A plan that asks for these runs."""
    cells = [run.cell for run in runs]
    known = {profile.name for profile in with_files().profiles}
    own = {run.cell.profile: run.sampling for run in runs if run.cell.profile not in known}
    tree = {
        "eval": {
            "add_models": [*dict.fromkeys(cell.model for cell in cells)],
            "profiles": [*dict.fromkeys(cell.profile for cell in cells)],
            "strategies": [*dict.fromkeys(cell.strategy for cell in cells)],
            "scenarios": [*dict.fromkeys(cell.scenario for cell in cells)],
            "trials": max(run.trial for run in runs),
            "fallback_matrix": any(cell.fallback != "best_effort" for cell in cells),
        },
        "endpoint": {"base_url": "https://openrouter.ai/api", "provider": "openrouter"},
        "catalogue": {"sampling": {name: {"options": options} for name, options in own.items()}},
    }
    try:
        options = Options.of(tree)
        presets = with_files().extended(Presets.of(tree["catalogue"]))
        scenarios = select_scenarios(options.scenarios)
        return EvalPlan(options, presets, scenarios)
    except ConfigError as error:
        raise ResultsError(f"{runs[0].path.parent}: its runs make no evaluation: {error}") from None


def _created(folder: Path, runs: Sequence[_RunFile]) -> datetime:
    """By the summary, or else by the name of the directory, or else when the last run was written."""
    stamps = [folder.resolve().name]
    if (summary := folder / "summary.json").exists():
        ts = _json(summary).get("ts")
        stamps.insert(0, re.sub("[-:]", "", ts) if isinstance(ts, str) else "")
    for stamp in stamps:
        with suppress(ValueError):  # it may be no date
            return datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return datetime.fromtimestamp(max(run.path.stat().st_mtime for run in runs), UTC)


def _json(path: Path) -> Mapping[str, Any]:
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path}: cannot be read as JSON: {error}; mend or remove the file") from None
    if not isinstance(tree, dict):
        raise ResultsError(f"{path}: expected an object; mend or remove the file")
    return tree


@dataclass(frozen=True, slots=True)
class _RunFile:
    """One file of a run; each getter refuses what is not as it should be."""

    path: Path
    tree: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> _RunFile:
        tree = _json(path)
        for field in _REQUIRED:
            if field not in tree:
                raise ResultsError(f"{path}: {field} is missing; it is no run file of the reference harness")
        run = cls(path, tree)
        if (language := run.table("language_policy").get("id", "off")) != "off":
            raise ResultsError(f"{path}: its answer had to be in {language!r}; leave such runs out")
        return run

    def text(self, field: str, default: str = "") -> str:
        value = self.tree.get(field)
        value = default if value is None else value
        return value if isinstance(value, str) else self._wrong(field, "a text")

    def whole(self, field: str, least: int) -> int:
        value = self.tree[field]
        if type(value) is not int or value < least:
            self._wrong(field, f"a whole number of at least {least}")
        return int(value)

    def table(self, field: str) -> Mapping[str, Any]:
        value = self.tree.get(field) or {}
        return value if isinstance(value, dict) else self._wrong(field, "an object")

    def _wrong(self, field: str, expected: str) -> Any:  # noqa: ANN401 - it never returns
        shown = json.dumps(self.tree[field], ensure_ascii=False)[:80]
        raise ResultsError(f"{self.path}: {field}: expected {expected}, got {shown}")

    @property
    def scenario(self) -> Scenario:
        name = self.text("scenario")
        if name not in _SCENARIOS:
            raise ResultsError(f"{self.path}: scenario: {unknown_name('scenario', name, _SCENARIOS)}")
        return _SCENARIOS[name]

    @property
    def cell(self) -> Cell:
        return Cell(
            self.text("model_base"),
            self.text("sampling_profile", "default"),
            self.text("strategy", "production"),
            self.text("fallback_profile", "best_effort"),
            self.scenario.name,
        )

    @property
    def trial(self) -> int:
        return self.whole("trial", 1)

    @property
    def sampling(self) -> Tree:
        return self.table("llm_options_defaults")

    def record(self) -> Record:
        cell, trial, verdict = self.cell, self.trial, self._verdict()
        configuration = canonical({})
        status = self.tree.get("error_status")
        attempt = Attempt(self.whole("elapsed_ms", 0), verdict, tuple(self._requests()))
        return Record(
            key=chain("reference", *cell.task, cell.scenario, str(trial)),
            cell=cell,
            trial=trial,
            version=self.scenario.version,
            configuration=configuration,
            digest=digest(configuration),
            tools_sent=self._tools_enabled,
            verdict=verdict,
            loop="completed" if self.tree["ok"] is True else "",
            final=self.text("assistant_text"),
            world={"draft": self.table("draft")},
            turns=len(self._trace),
            calls=sum(len(entry.get("tool_calls") or ()) for entry in self._trace),
            attempts=(attempt,),
            error_status=status if type(status) is int else None,
            error_hint=self.text("error_hint"),
        )

    @property
    def _tools_enabled(self) -> bool:
        return self.tree.get("tools_enabled") is not False

    @property
    def _trace(self) -> list[Mapping[str, Any]]:
        trace = self.tree.get("trace") or []
        if not isinstance(trace, list):
            self._wrong("trace", "a list")
        return [entry for entry in trace if isinstance(entry, dict)]

    def _requests(self) -> Iterator[SentRequest]:
        for turn, entry in enumerate(self._trace, 1):
            summary = entry.get("response_summary") or {}
            usage = summary.get("usage") or {}
            yield SentRequest(
                *(turn, 0, 200),
                finish=str(summary.get("finish_reason") or ""),
                prompt_tokens=int(usage.get("prompt_tokens") or 0),
                completion_tokens=int(usage.get("completion_tokens") or 0),
            )

    def _verdict(self) -> Verdict:
        ok = self.tree["ok"]
        if not isinstance(ok, bool):
            self._wrong("ok", "true or false")
        if not self.scenario.control and not self._tools_enabled:
            return _verdict("loop.tools_off", "the run was configured to send no tools")
        if ok:
            return Verdict("pass")
        word, why = self.text("error_category"), self.text("error")
        name = _CATEGORIES.get(word) or ("transport.status" if word.startswith("HTTP_") else "")
        if not name:
            known = (*_CATEGORIES, "HTTP_n")
            raise ResultsError(f"{self.path}: error_category: {unknown_name('category', word, known)}")
        if word == "UNPROCESSABLE" and self._trace:
            name = "wire.history_refused"
        if word == "EXCEPTION" and "turn" in why.lower():
            name = "loop.max_turns"
        return _verdict(name, why)


_CATEGORIES: Final[Mapping[str, str]] = {
    **{one.alias: one.name for one in reversed([*CATEGORIES.values()]) if one.family == "transport"},
    "TIMEOUT_ERROR": "transport.timeout",
    "NO_TOOL_USE_ENDPOINT": "wire.no_tool_use_endpoint",
    "EMPTY_ASSISTANT_TEXT": "wire.empty_response",
    "NO_TOOL_CALLS": "loop.no_tool_calls",
    "TOOL_ERROR": "loop.tool_error",
    "ASSERTION_FAILED": "task.outcome:assertion",
    # An exception is one of the harness, but for the one of a run with too many turns.
    "EXCEPTION": "loop.cancelled",
}


def _verdict(name: str, why: str) -> Verdict:
    return Verdict(category(name).result, name, (why,) if why else ())
