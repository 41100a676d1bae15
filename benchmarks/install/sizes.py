"""How much room each extra takes on disk, measured in a fresh environment each; fills docs/install.md.

The sizes are of ``site-packages`` as pip leaves it, bytecode included, without pip itself. Versions are
those of requirements.lock. Packages come from the registry, so this is no part of ``make bench-parts``.
"""

from __future__ import annotations

import argparse
import platform
import re
import subprocess
import sys
import tempfile
import tomllib
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "install.md"
BEGIN, END = "<!-- sizes: begin -->\n", "<!-- sizes: end -->\n"
PINNED = re.compile(r"^[\w.-]+==[^\n\\]+", re.MULTILINE)
NOTED = 3
"""How many of the largest packages a row names."""


def main() -> None:
    """Print the table, or write it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the table into docs/install.md")
    parser.add_argument("--extra", action="append", help="measure this extra only; may be given again")
    asked = parser.parse_args()
    described = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = asked.extra or ["", *described["project"]["optional-dependencies"], "all,evals"]
    with tempfile.TemporaryDirectory(prefix="toolreel-sizes-") as folder:
        wheel = built(Path(folder))
        rows = sorted(
            ((extra, *measured(Path(folder) / (extra or "none"), wheel, extra)) for extra in extras),
            key=lambda row: row[1],
        )
    told = table(rows)
    print(told)
    if asked.write:
        page = PAGE.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN)
        PAGE.write_text(before + BEGIN + told + END + rest.split(END)[1], encoding="utf-8")


def built(folder: Path) -> Path:
    """The wheel of this checkout."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return next(folder.glob("*.whl"))


def measured(folder: Path, wheel: Path, extra: str) -> tuple[float, str]:
    """Megabytes of an environment with the wheel and one extra, and the packages that are most of it."""
    constraints = folder.with_suffix(".txt")
    pins = PINNED.findall((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    constraints.write_text("\n".join(pins) + "\n", encoding="utf-8")
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    install = [str(uv), "pip", "install", "--quiet", "--compile-bytecode", "--python", str(python)]
    wanted = f"{wheel}[{extra}]" if extra else str(wheel)
    subprocess.run([*install, "--constraint", constraints, wanted], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    entries = {entry.name.removesuffix(".libs"): 0.0 for entry in packages.iterdir()}
    for entry in packages.iterdir():
        entries[entry.name.removesuffix(".libs")] += size(entry)
    largest = sorted(entries.items(), key=lambda item: -item[1])[:NOTED]
    return sum(entries.values()), ", ".join(f"{name} {mb:.0f}" for name, mb in largest)


def size(entry: Path) -> float:
    """Megabytes on disk, in whole blocks, as ``du`` counts them."""
    files = [entry, *entry.rglob("*")] if entry.is_dir() else [entry]
    return sum(file.lstat().st_blocks for file in files) * 512 / 2**20


def table(rows: list[tuple[str, float, str]]) -> str:
    """The rows in Markdown, with the conditions under which they were measured."""
    today = datetime.now(UTC).date().isoformat()
    where = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    lines = [
        f"Measured on {today}, {where}, in MB of `site-packages` with bytecode and without pip "
        "(`python -m benchmarks.install.sizes --write` in a checkout):",
        "",
        "| install | MB | the largest packages in it, MB |",
        "|---|---:|---|",
    ]
    for extra, megabytes, largest in rows:
        name = f"toolreel[{extra}]" if extra else "toolreel"
        lines.append(f"| `{name}` | {megabytes:.0f} | {largest} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
