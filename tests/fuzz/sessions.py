"""One target fuzzed for some time: with atheris where it runs, else with Hypothesis alone."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Final

from hypothesis import HealthCheck, given, seed, settings

from tests.fuzz.found import FOUND, complaint
from tests.fuzz.fragments import FRAGMENTS
from tests.fuzz.targets import TARGETS, Target, inputs

ROOT: Final = Path(__file__).resolve().parents[2]

_CORPUS: Final = ROOT / ".fuzz"
"""Inputs that reached something new, kept from session to session."""
_LONGEST: Final = 4_096
"""Bytes of an input."""
_HANG: Final = 20
"""Seconds after which an input counts as a hang."""
_MEMORY: Final = 1_024
"""Megabytes that a session may take."""
_EVERY: Final = 30
"""Seconds between two words about how it goes."""
_AT_ONCE: Final = 200
_EXECUTIONS: Final = re.compile(r"stat::number_of_executed_units:\s+(\d+)")
_NEW: Final = re.compile(r"stat::new_units_added:\s+(\d+)")
_STATUS: Final = re.compile(r"#\d+\t.*")
_COVERAGE: Final = re.compile(r"\bcov: (\d+)")

_DRAWING: Final = settings(
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.data_too_large, HealthCheck.large_base_example, HealthCheck.too_slow],
)

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Session:
    """What came of it."""

    target: str
    executions: int = 0
    new: int = 0
    """Inputs that reached something that none before had reached."""
    coverage: int = 0
    """Edges of the core that were reached."""
    found: bytes | None = None
    """An input that shows a defect."""
    log: str = ""
    """Its last words, where it ended before its time."""


def has_atheris() -> bool:
    """Whether this is a system that atheris is made for: Linux, with Python before 3.14."""
    return importlib.util.find_spec("atheris") is not None


def guided(target: str, seconds: float, say: Say) -> Session:
    """Let atheris look for inputs that reach what none has reached before."""
    corpus = _CORPUS / target
    corpus.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        begun, artifacts = Path(folder) / "seeds", Path(folder) / "found"
        words = Path(folder) / "words"
        words.write_text("".join(f'"{_in_dictionary(text)}"\n' for text in FRAGMENTS), encoding="ascii")
        artifacts.mkdir()
        begun.mkdir()
        for place, data in enumerate(TARGETS[target].seeds()):
            (begun / f"{place:04}").write_bytes(data)
        known = [str(path) for path in (FOUND / target,) if path.is_dir()]
        options = {
            "max_total_time": round(seconds),
            "max_len": _LONGEST,
            "timeout": _HANG,
            "rss_limit_mb": _MEMORY,
            "print_final_stats": 1,
            "dict": words,
            "artifact_prefix": f"{artifacts}/",
        }
        command = [sys.executable, "-m", "tests.fuzz.worker", target]
        command += [f"-{name}={value}" for name, value in options.items()]
        session, status = _watched(Session(target), [*command, str(corpus), str(begun), *known], say)
        inputs_found = [path for path in sorted(artifacts.iterdir()) if not path.name.startswith("slow-unit")]
        found = inputs_found[0].read_bytes() if inputs_found else None
        return replace(session, found=found, log="" if status == 0 else session.log)


def unguided(target: str, seconds: float, say: Say) -> Session:
    """Let Hypothesis draw inputs; it shrinks what it finds."""
    session, begun, said = Session(target), monotonic(), monotonic()
    while session.found is None and monotonic() - begun < seconds:
        found = _drawn(TARGETS[target], session.executions)
        session = replace(session, executions=session.executions + _AT_ONCE, found=found)
        if monotonic() - said > _EVERY:
            said = monotonic()
            say(f"{session.executions} executions")
    return session


def _drawn(target: Target, number: int) -> bytes | None:
    """The input that fails out of some that are drawn, if one does."""
    failed: list[bytes] = []

    @seed(number)
    @settings(_DRAWING, max_examples=_AT_ONCE)
    @given(inputs(target))
    def check_each(data: bytes) -> None:
        try:
            target.check(data)
        except Exception:
            failed.append(data)
            raise

    # The last one is the smallest.
    return failed[-1] if complaint(lambda _: check_each(), b"") else None


def _watched(session: Session, command: list[str], say: Say) -> tuple[Session, int]:
    """Run a worker to its end, and tell how it goes from time to time."""
    lines: list[str] = []
    said = monotonic()
    worker = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert worker.stdout
    with worker:
        for line in worker.stdout:
            lines = [*lines[-60:], line]
            session = _with_figures(session, line)
            if _STATUS.match(line) and monotonic() - said > _EVERY:
                said = monotonic()
                say(" ".join(line.split()))
    return replace(session, log="".join(lines)), worker.returncode


def _with_figures(session: Session, line: str) -> Session:
    """The session, with what a line of libFuzzer says of it."""
    if executions := _EXECUTIONS.search(line):
        return replace(session, executions=int(executions[1]))
    if new := _NEW.search(line):
        return replace(session, new=int(new[1]))
    if coverage := _COVERAGE.search(line):
        return replace(session, coverage=int(coverage[1]))
    return session


def _in_dictionary(text: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in text.encode())
