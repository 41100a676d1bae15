"""Proof that the twin of each module of the core covers it fully, all alone.

Coverage by accident, from some other module's tests, hides what nobody meant to test. Each
twin runs in a process of its own and only its module is measured; doctests do not count.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Twin", "main"]

ROOT = Path(__file__).resolve().parents[1]
DOMAIN = ROOT / "domain" / "toolreel"
AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Twin:
    """What the run of one twin came to."""

    module: Path
    covered: bool
    finding: str
    """Missing lines and branches, or what else is wrong."""
    log: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", type=Path, help="all of domain/ if none is named")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        return measure(arguments.measure)
    modules = [path.resolve() for path in arguments.modules] or sorted(DOMAIN.rglob("*.py"))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        twins = list(pool.map(run, [path for path in modules if path.name != "__init__.py"]))
    for twin in twins:
        print(f"{twin.module!s:<44} {twin.finding}")
    failed = [twin for twin in twins if not twin.covered]
    for twin in failed:
        if twin.log:
            print(f"\n== {twin.module}", twin.log, sep="\n")
    print(f"{len(twins)} modules, {f'{len(failed)} not' if failed else 'all'} fully covered by their twins")
    return 1 if failed else 0


def twin_of(module: Path) -> Path:
    return ROOT / "tests" / "domain" / module.relative_to(DOMAIN).with_name(f"test_{module.name}")


def run(module: Path) -> Twin:
    """Measure one module in a process of its own."""
    name = module.relative_to(ROOT)
    if not twin_of(module).exists():
        return Twin(name, False, f"no {twin_of(module).relative_to(ROOT)}", "")
    done = subprocess.run(
        [sys.executable, __file__, "--measure", str(module)],
        cwd=ROOT,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return Twin(name, False, "its tests fail", done.stdout + done.stderr)
    finding = done.stdout.splitlines()[-1]
    return Twin(name, finding == "100%", finding, "")


def measure(module: Path) -> int:
    """Run the twin of a module; the last line printed is its coverage and what is missing."""
    import pytest
    from coverage import Coverage
    from coverage.exceptions import NoDataError

    measured = Coverage(data_file=None, branch=True, source=[], include=[str(module)])
    measured.start()
    status = pytest.main(
        # Not the options of pyproject.toml: they ask for doctests.
        ["-q", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib", str(twin_of(module))]
    )
    measured.stop()
    if status:
        return int(status)
    report = io.StringIO()
    with contextlib.suppress(NoDataError):
        measured.report(file=report, skip_covered=False, show_missing=True)
    rows = [line.split(maxsplit=6) for line in report.getvalue().splitlines() if module.name in line]
    print(" missing ".join(rows[0][5:]) if rows else "0%: its twin never imports it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
