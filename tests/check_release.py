"""Check of a release: build it, check it, test it on every Python here, with the oldest and newest packages.

``python tests/check_release.py`` does all of it for the commit that is checked out. ``--dist FOLDER`` tests a
wheel and an sdist that were built before; that needs nothing but the interpreter and ``--uv``,
so it can run in another system, such as a newer Debian in a folder (CONTRIBUTING.md).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parents[1]
MINORS = ("3.11", "3.12", "3.13", "3.14", "3.15")
# The oldest packages are tried on the oldest patch release of a Python, the newest on its newest.
RESOLUTIONS = {"oldest": "lowest-direct", "newest": "highest"}
LARGEST = {".whl": 1_600_000, ".gz": 1_800_000}
"""Bytes; what makes a release larger than this is looked at first."""
EXTRAS = ("all", "evals", "parquet")
TOOLS = ("pytest>=9,<10", "pytest-xdist", "hypothesis", "pydantic")
"""What the tests of the core import, besides the package."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--dist", type=Path, help="folder with a wheel and an sdist, instead of building them"
    )
    options.add_argument("--uv", type=Path, default=Path(sys.executable).with_name("uv"))
    options.add_argument(
        "--python", action="append", default=[], metavar="PATH", help="only these interpreters"
    )
    options.add_argument(
        "--tests", nargs="*", default=["tests/domain"], help="of the sdist; none: only the smoke tests"
    )
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="toolreel-release-") as folder:
        base = Path(folder)
        dist = given.dist.resolve() if given.dist else built(base)
        (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
        check_contents(wheel, sdist)
        with tarfile.open(sdist) as packed:
            packed.extractall(base / "sdist", filter="data")
        (source,) = (base / "sdist").iterdir()
        here = {python: (python, python) for python in given.python} or interpreters(given.uv)
        failed = [
            f"{name}, {resolution}"
            for name, pythons in here.items()
            for python, resolution in zip(pythons, RESOLUTIONS, strict=True)
            if not passes(base, given.uv, python, resolution, wheel, sdist, source, given.tests)
        ]
        if not given.python:
            for minor in sorted(set(MINORS) - here.keys()):
                print(f"not tested: Python {minor} is not here (CONTRIBUTING.md says where to get it)")
    if failed:
        sys.exit(f"check-release: failed on {'; '.join(failed)}")
    print(f"check-release: all is well on {', '.join(here)}, with the oldest and the newest packages")


def built(base: Path) -> Path:
    """Wheel and sdist of this commit, built twice from two checkouts: the same bytes, kept in dist/."""
    sums = []
    for number, mask in enumerate((0o022, 0o077)):
        say(f"building, checkout {number + 1} of 2")
        checkout = base / f"checkout-{'x' * 20 * number}{number}"  # of another length, and for other eyes
        before = os.umask(mask)
        run("git", "clone", "-q", "--no-hardlinks", ROOT, checkout)
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", base / f"dist-{number}", checkout)
        os.umask(before)
        files = sorted((base / f"dist-{number}").iterdir())
        sums.append({file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files})
    if sums[0] != sums[1]:
        sys.exit(f"check-release: two builds differ: {sums}")
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    shutil.copytree(base / "dist-0", dist)
    for name, digest in sums[0].items():
        print(f"  {name}: {(dist / name).stat().st_size:,} bytes, twice sha256 {digest}")
    tools = ROOT / ".release" / "bin"
    run(tools / "twine", "check", "--strict", *dist.iterdir())
    # W009: two packages lie at the top, on purpose.
    run(tools / "check-wheel-contents", "--ignore", "W009", *dist.glob("*.whl"))
    return dist


def check_contents(wheel: Path, sdist: Path) -> None:
    """What a release must not have, and its size."""
    with ZipFile(wheel) as packed, tarfile.open(sdist) as archive:
        inside = {"the wheel": packed.namelist(), "the sdist": archive.getnames()}
    for what, names in inside.items():
        recordings = [name for name in names if name.endswith((".journal.jsonl", ".yaml", ".yml"))]
        if len(recordings) != 2 or not all("local--qwen2.5-coder-1.5b" in name for name in recordings):
            sys.exit(f"check-release: {what} has other recordings than that of the demo: {recordings}")
    for file in (wheel, sdist):
        if file.stat().st_size > LARGEST[file.suffix]:
            sys.exit(f"check-release: {file.name} has {file.stat().st_size:,} bytes")


def interpreters(uv: Path) -> dict[str, tuple[str, str]]:
    """The oldest and the newest CPython of each minor version that is on this machine, by that version."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    listing = (str(uv), "python", "list", "--only-installed", "--no-python-downloads", "--output-format=json")
    environ = {**os.environ, "PATH": os.pathsep.join([*map(str, pyenv.glob("*/bin")), os.environ["PATH"]])}
    done = subprocess.run(listing, env=environ, capture_output=True, text=True, check=True)
    found: dict[str, list[tuple[list[int], str]]] = {}
    for each in json.loads(done.stdout):
        numbers = [int(part) for part in re.findall(r"\d+", each["version"])[:3]]
        usual = each["implementation"] == "cpython" and each["variant"] == "default"
        if usual and "/shims/" not in each["path"]:
            found.setdefault(f"{numbers[0]}.{numbers[1]}", []).append((numbers, each["path"]))
    return {minor: (min(found[minor])[1], max(found[minor])[1]) for minor in MINORS if minor in found}


def passes(
    base: Path,
    uv: Path,
    python: str,
    resolution: str,
    wheel: Path,
    sdist: Path,
    source: Path,
    tests: Sequence[str],
) -> bool:
    """Whether the release installs and works in a new environment of an interpreter."""
    began = time.monotonic()
    say(f"{python}, {resolution} packages")
    folder = Path(tempfile.mkdtemp(dir=base))
    env, elsewhere = folder / "env" / "bin", folder / "elsewhere"
    shutil.copytree(ROOT / "examples" / "agent_in_ci", elsewhere)
    quiet = (uv, "--quiet", "--no-python-downloads", "pip")
    try:
        run(uv, "venv", "--quiet", "--no-python-downloads", "--python", python, folder / "env")
        extras = [part for extra in EXTRAS for part in ("--extra", extra)]
        pins = folder / "pins.txt"
        # No builds: the oldest version is the oldest that has a wheel for this Python.
        how = (
            "--no-build",
            "--python",
            env / "python",
            "--resolution",
            RESOLUTIONS[resolution],
            "--output-file",
            pins,
        )
        run(*quiet, "compile", source / "pyproject.toml", *extras, *how)
        install = (*quiet, "install", "--python", env / "python")
        run(*install, "--requirement", pins)
        # From the sdist where packages are oldest, from the wheel where they are newest.
        run(*install, "--no-deps", sdist if resolution == "oldest" else wheel)
        run(*quiet, "check", "--python", env / "python")
        run(env / "toolreel", "demo", cwd=folder, expect="identical on trio")
        run(env / "toolreel", "doctor", cwd=folder, expect="no problems")
        run(env / "python", "-m", "pytest", "-q", "-p", "no:asyncio", cwd=elsewhere, expect="4 passed")
        if tests:
            kept = [line for line in pins.read_text().splitlines() if not line.startswith("pytest==")]
            pins.write_text("\n".join(kept))
            run(*install, "--constraint", pins, *TOOLS)
            # Neither domain/ nor adapters/ is on the path there: what is tested is what was installed.
            run(env / "python", "-m", "pytest", "-q", "-n", "2", *tests, cwd=source, expect=" passed")
    except subprocess.CalledProcessError as error:
        print(f"  FAILED: {shown(error.cmd)}\n{error.output}", flush=True)
        return False
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"  passed in {time.monotonic() - began:.0f} s", flush=True)
    return True


def run(*command: str | Path, cwd: Path | None = None, status: int = 0, expect: str = "") -> None:
    """Run a command.

    :raises subprocess.CalledProcessError: if it ends with another status, or its output lacks a text
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={**kept, "TOOLREEL_HYPOTHESIS": "quick"},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode != status or expect not in done.stdout:
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout[-4000:])
    print(f"  {shown(command)}: {last_line(done.stdout)}", flush=True)


def shown(command: Sequence[str | Path]) -> str:
    return " ".join(Path(part).name if Path(part).is_absolute() else part for part in map(str, command))


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:100] if lines else "done"


def say(what: str) -> None:
    print(f"== {what}", flush=True)


if __name__ == "__main__":
    main()
