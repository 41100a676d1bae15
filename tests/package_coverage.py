"""Proof that each package of the core is covered fully by its own tests.

Coverage by accident, from another package's tests, hides what nobody meant to test. So the tests in
``tests/domain/replies/`` run in a process of their own, and only ``_replies/`` is measured; doctests
do not count.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Covered", "main", "packages"]

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "domain" / "toolreel_core"
TESTS = ROOT / "tests" / "domain"
AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Covered:
    """The result of one package's tests."""

    package: str
    fully: bool
    report: str
    """Each file that is not covered, with its missing lines and branches; or what pytest printed."""


def packages() -> list[str]:
    """The folders of the core, the largest first, so that no long run is left for the end."""
    folders = [path for path in CORE.iterdir() if (path / "__init__.py").exists()]
    return [path.name for path in sorted(folders, key=lambda path: -sum(1 for _ in path.rglob("*.py")))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", help="such as _replies; all of them if none is named")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        return measure(arguments.measure)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(run, arguments.packages or packages()))
    for result in results:
        print(f"{result.package:<16} {'100%' if result.fully else 'not covered'}")
    failed = [result for result in results if not result.fully]
    for result in failed:
        print(f"\n== {result.package}", result.report, sep="\n")
    print(f"{len(results)} packages, {f'{len(failed)} not' if failed else 'all'} covered by their own tests")
    return 1 if failed else 0


def run(package: str) -> Covered:
    """Measure one package in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--measure", package],
        cwd=ROOT,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return Covered(package, done.returncode == 0, done.stdout + done.stderr)


def measure(package: str) -> int:
    """Run the tests of a package; exit with 0 if they pass and cover every line and branch of it."""
    import pytest
    from coverage import Coverage

    measured = Coverage(data_file=None, branch=True, source=[str(CORE / package)])
    measured.start()
    status = pytest.main(
        # Not the options of pyproject.toml: they ask for doctests.
        [
            "-q",
            "-p",
            "no:cacheprovider",
            "-o",
            "addopts=--import-mode=importlib",
            "-m",
            "not slow",
            str(TESTS / package.lstrip("_")),
        ]
    )
    measured.stop()
    if status:
        return int(status)
    report = io.StringIO()
    total = measured.report(file=report, skip_covered=True, show_missing=True)
    print(report.getvalue())
    return 0 if total == 100 else 1


if __name__ == "__main__":
    sys.exit(main())
