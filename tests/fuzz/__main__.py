"""Coverage-guided fuzzing from the command line: ``python -m tests.fuzz [TARGET…] [--seconds N]``.

What it finds is kept under ``tests/fuzz/found/``; the exit code is 1 then. ``--replay FILE…`` checks kept
inputs alone. Hypothesis draws inputs for the same targets in ``test_targets.py``.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.draw import plain
from tests.fuzz.found import FOUND, keep
from tests.fuzz.fragments import FRAGMENTS
from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).resolve().parents[2]

_CORPUS = ROOT / ".fuzz"
"""Inputs that reached something new, kept from session to session."""
_OPTIONS = {
    "max_len": 4_096,
    "timeout": 20,  # seconds, after which an input counts as a hang
    "rss_limit_mb": 1_024,
    "print_final_stats": 1,
}
_FIGURES = re.compile(r"stat::(?:number_of_executed_units|new_units_added):\s+\d+")


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz the normalisers.")
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(TARGETS)}; all if none is named")
    parser.add_argument("--seconds", type=float, default=60, help="for each target (60)")
    parser.add_argument("--replay", nargs="+", type=Path, metavar="FILE", help="check kept inputs, no others")
    arguments = parser.parse_args(given)
    targets = [path.resolve().parent.name for path in arguments.replay or ()] or arguments.targets or TARGETS
    if unknown := [name for name in targets if name not in TARGETS]:
        parser.error(f"no target {unknown[0]!r}; there are {', '.join(TARGETS)}")
    if arguments.replay:
        for name, path in zip(targets, arguments.replay, strict=True):
            TARGETS[name].check(path.read_bytes())
        print(f"{len(arguments.replay)} inputs, all of them hold")
        return 0
    if importlib.util.find_spec("atheris") is None:
        print("Not fuzzed: atheris is for Linux and Python before 3.14.")
        return 0
    return max([fuzz(name, arguments.seconds) for name in targets])


def fuzz(target: str, seconds: float) -> int:
    """Let atheris look for inputs that reach what none has reached before; 1 if one shows a defect."""
    corpus = _CORPUS / target
    corpus.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        begun, artifacts, words = (Path(folder) / name for name in ("seeds", "found", "words"))
        escaped = ("".join(f"\\x{byte:02x}" for byte in text.encode()) for text in FRAGMENTS)
        words.write_text("".join(f'"{text}"\n' for text in escaped), encoding="ascii")
        artifacts.mkdir()
        begun.mkdir()
        for place, data in enumerate(TARGETS[target].seeds()):
            (begun / f"{place:04}").write_bytes(data)
        known = [FOUND / target] if (FOUND / target).is_dir() else []
        options = {
            "max_total_time": round(seconds),
            "dict": words,
            "artifact_prefix": f"{artifacts}/",
            **_OPTIONS,
        }
        command = [sys.executable, "-m", "tests.fuzz.worker", target]
        command += [f"-{name}={value}" for name, value in options.items()]
        done = subprocess.run(
            [*command, *map(str, (corpus, begun, *known))],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        found = [path for path in sorted(artifacts.iterdir()) if not path.name.startswith("slow-unit")]
        print(f"{target}: {', '.join(_FIGURES.findall(done.stderr))}", flush=True)
        if found:
            path = keep(target, plain(found[0].read_bytes())).relative_to(ROOT)
            print(f"  FOUND; reproduce: python -m tests.fuzz --replay {path}")
        elif done.returncode:
            print(done.stderr[-4_000:])
        return int(bool(found or done.returncode))


if __name__ == "__main__":
    sys.exit(main())
