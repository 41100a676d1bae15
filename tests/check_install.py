"""Check of what a user gets: the wheel, in a fresh environment, away from the checkout."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path
from zipfile import ZipFile

from tests.check_release import run, say, shown

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
SAME = "replay      identical on sync"
"""What the demo says of a replay that equals the recorded journal."""
PINNED = re.compile(r"^[\w.-]+==[^\\\n]+", re.MULTILINE)
"""A pinned version, with the marker of the interpreters that it is for."""


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="toolreel-") as folder:
        base = Path(folder)
        wheel = build(base)
        python = environment(base)
        script = python.with_name("toolreel")
        elsewhere = base / "elsewhere"
        elsewhere.mkdir()

        say("the wheel alone")
        install(base, python, str(wheel))
        run(python, "-m", "pip", "check", cwd=elsewhere)
        run(python, "-c", "import toolreel_core; from toolreel import *", cwd=elsewhere)
        run(python, "-c", "import httpx", cwd=elsewhere, status=1, expect="No module named 'httpx'")
        run(python, ROOT / "examples" / "scripts" / "embed_reducer.py", cwd=elsewhere)
        run(script, "--help", cwd=elsewhere, status=2, expect="pip install 'toolreel[cli]'")

        say("the wheel with its command line, by uvx in an empty folder")
        uvx = str(Path(sys.executable).with_name("uv")), "tool", "run", "--python", sys.executable
        pinned = "--constraints", str(constraints(base))
        run(*uvx, *pinned, "--from", f"{wheel}[cli]", "toolreel", "demo", cwd=elsewhere, expect=SAME)
        assert not list(elsewhere.iterdir()), "the demo left files behind"

        say("the wheel with its command line, by pip")
        install(base, python, f"{wheel}[cli]")
        run(python, "-m", "pip", "check", cwd=elsewhere)
        run(script, "--help", cwd=elsewhere, expect="Usage")
        run(script, "demo", cwd=elsewhere, expect=SAME)
        run(script, "presets", cwd=elsewhere, expect="default_tool_calling")
        run(script, "run", "--help", cwd=elsewhere, expect="Usage")  # which offers tools of every other extra
        assert not list(elsewhere.iterdir()), "the demo left files behind"

        say("the examples, each with what it says that it needs")
        for example in sorted([*EXAMPLES.glob("*/pyproject.toml"), *EXAMPLES.glob("scripts/*.py")]):
            install_fast(base, python, *requirements(example, wheel))
            if example.suffix == ".py":
                run(python, example, cwd=elsewhere)
            else:
                page = example.with_name("README.md").relative_to(ROOT)
                run(sys.executable, "-m", "tests.docs.snippets", python, str(page), cwd=ROOT)

        say("the wheel with everything, and what README.md and docs/ show")
        install_fast(
            base, python, f"{wheel}[all,evals]", "openai", "opentelemetry-sdk", "fastmcp-slim[server]"
        )
        run(python, "-m", "pip", "check", cwd=elsewhere)
        run(
            sys.executable, "-m", "tests.docs.snippets", python, cwd=ROOT, expect="docs/skills.md: as it says"
        )
    print("check-install: all is well")


def build(base: Path) -> Path:
    """The wheel, built from the sdist as a package index would have it."""
    say("building sdist and wheel")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", base / "dist", ROOT, cwd=base)
    (wheel,) = (base / "dist").glob("*.whl")
    with ZipFile(wheel) as packed:
        page = "page.css", "explorer.js", "transcripts.js"
        missing = {f"toolreel/evals/_report/{name}" for name in page}
        missing |= {f"toolreel/_internal/shared.{ending}" for ending in ("css", "js")}
        adapters = ROOT / "adapters"
        scenarios = (adapters / "toolreel" / "evals" / "scenarios").rglob("*.toml")
        missing |= {path.relative_to(adapters).as_posix() for path in scenarios}
        missing -= set(packed.namelist())
        assert not missing, f"the wheel lacks {missing}"
    return wheel


def requirements(example: Path, wheel: Path) -> list[str]:
    """What a project or a script names, with the wheel for toolreel."""
    text = example.read_text("utf-8")
    if example.suffix == ".py":  # in a comment: PEP 723
        text = text.partition("# /// script\n")[2].partition("# ///\n")[0].replace("# ", "")
        named = tomllib.loads(text)["dependencies"]
    else:
        tables = tomllib.loads(text)
        named = tables["project"]["dependencies"] + tables.get("dependency-groups", {}).get("dev", [])
    return [re.sub(r"^toolreel\b", str(wheel), each) for each in named]


def environment(base: Path) -> Path:
    """The interpreter of a new environment."""
    venv.create(base / "venv", with_pip=True)
    return base / "venv" / "bin" / "python"


def install(base: Path, python: Path, what: str) -> None:
    """Install a wheel with its extras; what is imported is compiled then, a third of it."""
    quietly = "install", "-qq", "--no-compile", "--constraint"
    run(python, "-m", "pip", *quietly, constraints(base), what, cwd=base)


def install_fast(base: Path, python: Path, *what: str) -> None:
    """Install many packages: by uv, which takes a quarter of pip's time, or by pip where uv finds no index.

    uv does not read pip's settings, where an index may be named.
    """
    uv = Path(sys.executable).with_name("uv")
    pinned = "--constraint", str(constraints(base))
    command = str(uv), "pip", "install", "-q", "--python", str(python), *pinned, *what
    if subprocess.run(command, cwd=base, check=False).returncode:
        for each in what:
            install(base, python, each)


def constraints(base: Path) -> Path:
    """The versions of the lock, so that a release made elsewhere changes no result."""
    pins = PINNED.findall((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    written = base / "constraints.txt"
    written.write_text("\n".join(pins) + "\n", encoding="utf-8")
    return written


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"check-install: {shown(error.cmd)} failed, or said something else:\n{error.output}")
