"""Run the snippets of a Markdown page, in order, in one folder, as a reader would.

``python -m tests.docs.snippets PYTHON [PAGE...]`` runs them with another interpreter, such as that of an
environment that has only the wheel; without pages, README.md and all of docs/. The README.md of an example is
run in a copy of its project, where its commands are those that test it.

What the comments on a page mean, each on the lines before a block:

``<!-- not run: REASON -->``
    The block is shown and not run.
``<!-- server: [...] -->``
    What the server of the page answers while the block runs: a text, or ``["tool", {arguments}]``.
``<!-- exits with N -->``
    The exit status of the block; 0 without it.

A paragraph that says ``Save ... as `NAME`:`` names the file of the block behind it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.docs.forks import Forks
from tests.patience import HANG
from tests.servers.chat_server import Answer, replying, serving, streaming
from toolreel.testing import calling, saying

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
RUN = tuple(page for page in PAGES if page.name != "install.md")
"""Pages that are run; tests/check_install.py does what install.md says, with the wheel."""

PLACEHOLDER = "https://your.server/v1"
"""What stands on the pages for a server of the reader's own."""

RECORDED = "cassettes/evals"
"""Evaluations of a checkout; a page that names them finds a copy there."""

_SHELL = ("sh", "console")
_RUN = ("python", *_SHELL)

# A fence, its language, and the code behind it up to a fence of the same width.
_FENCE = re.compile(r"^(?P<fence>```+)(?P<language>\w*)\n(?P<code>.*?)^(?P=fence)$", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!-- (?P<key>not run: |server: |exits with )(?P<value>.+?) -->", re.DOTALL)
_SAVE = re.compile(r"\bSave\b[^`\n]*`(?P<name>[\w./-]+)`[^`\n]*:$")


class Failure(AssertionError):
    """A block that did not do what its page says."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block of code on a page."""

    page: Path
    line: int
    language: str
    code: str
    file: str = ""
    """The name under which the page tells the reader to save it."""
    not_run: str = ""
    """The reason for which it is not run."""
    server: str = ""
    """The answers of the server, as JSON."""
    status: int = 0

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def runs(self) -> bool:
        return self.language in _RUN and not self.file and not self.not_run

    def answers(self) -> Iterator[Answer]:
        """What the server answers while the block runs."""
        for answer in json.loads(self.server or "[]"):
            match answer:
                case str(text):
                    yield replying(saying(text))
                case [str(name), dict(arguments)]:
                    yield replying(calling((name, arguments)))
                case {"stream": str(frames)}:
                    yield streaming(frames)
                case _:
                    raise Failure(f"{self.place}: no answer of a server: {answer!r}")

    def commands(self) -> str:
        """The code as it is typed: what stands behind the prompts of a console."""
        if self.language != "console":
            return self.code
        return "\n".join(line[2:] for line in self.code.splitlines() if line.startswith(("$ ", "> ")))

    def output(self) -> str:
        """What a console shows behind the commands."""
        return "\n".join(line for line in self.code.splitlines() if not line.startswith(("$ ", "> ")))


def blocks_of(page: Path) -> list[Block]:
    """All blocks of code of a page."""
    text, blocks, behind = page.read_text("utf-8"), [], 0
    for found in _FENCE.finditer(text):
        # Only the paragraph and the comments right before the fence belong to the block.
        before = text[behind : found.start()].rstrip()
        comments: dict[str, str] = {}
        while before.endswith("-->"):
            start = before.rindex("<!--")
            comment = _COMMENT.fullmatch(before[start:])
            if comment:
                comments[comment["key"].strip(" :")] = comment["value"]
            before = before[:start].rstrip()
        saved = _SAVE.search(" ".join(before.rpartition("\n\n")[2].split()))
        blocks.append(
            Block(
                page=page,
                line=text.count("\n", 0, found.start()) + 1,
                language=found["language"],
                code=found["code"],
                file=saved["name"] if saved else "",
                not_run=comments.get("not run", ""),
                server=comments.get("server", ""),
                status=int(comments.get("exits with", "0")),
            )
        )
        behind = found.end()
    return blocks


def run_page(page: Path, folder: Path, forks: Forks) -> None:
    """Run what a page shows in a folder, which is empty at first.

    :raises Failure: at the first block that fails, or prints something else than the page says
    """
    blocks = blocks_of(page)
    output = ""
    if any(block.runs and RECORDED in block.code for block in blocks):
        # A copy, since summaries are written into it.
        shutil.copytree(ROOT / RECORDED, folder / RECORDED)
    with serving(*[answer for block in blocks if block.runs for answer in block.answers()]) as server:
        for block in blocks:
            if block.file:
                path = folder / block.file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.code.replace(PLACEHOLDER, f"{server.url}/v1"), "utf-8")
            elif block.runs:
                output = _run(block, folder, forks, f"{server.url}/v1")
            elif block.language == "text" and not block.not_run:
                _compare(block, block.code, output)


def _run(block: Block, folder: Path, forks: Forks, url: str) -> str:
    code, environment = block.commands().replace(PLACEHOLDER, url), _environment(forks.python)
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as printed:
        streams = (Path(os.devnull), Path(printed.name), Path(printed.name))
        if block.language == "python":
            status = forks.run((), code, folder, environment, streams)
        elif commands := _plain_commands(code):
            status = 0
            for command in commands:
                if status == 0:
                    status = forks.run(command, None, folder, environment, streams)
        else:
            status = _in_a_shell(code, folder, environment, Path(printed.name))
        # The server is on another port each time.
        output = printed.read().replace(url, PLACEHOLDER)
    # A shell says 128 + n of a command that signal n has ended.
    status = status if status >= 0 else 128 - status
    if status != block.status:
        raise Failure(f"{block.place}: expected exit status {block.status}, got {status}\n{output}")
    if block.language == "console":
        _compare(block, block.output(), output)
    return output


def _plain_commands(code: str) -> list[list[str]]:
    """The commands, if all are of toolreel and need no shell; else nothing."""
    lines = code.replace("\\\n", " ").splitlines()
    plain = all(line.startswith("toolreel ") and not set(line) & set("|&;<>$`") for line in lines)
    return [shlex.split(line, comments=True) for line in lines] if plain else []


def _in_a_shell(code: str, folder: Path, environment: Mapping[str, str], output: Path) -> int:
    with output.open("a") as printed:
        return subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", code],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            check=False,
            timeout=HANG,
        ).returncode


def _environment(python: Path) -> dict[str, str]:
    """That of a reader who has activated the environment of the interpreter, and has a key."""
    dropped = ("PYTHON", "TOOLREEL_", "PYTEST_", "COV_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1", "YOUR_KEY": "an-example-of-a-key"}


def _compare(block: Block, shown: str, output: str) -> None:
    """Hold what the page shows against what was printed; a ``…`` on the page is any text."""
    expected = re.escape("\n".join(map(str.rstrip, shown.strip().splitlines()))).replace("…", ".*?")
    printed = "\n".join(map(str.rstrip, output.strip().splitlines()))
    if not re.fullmatch(expected, printed, re.DOTALL):
        raise Failure(f"{block.place}: the page shows\n{shown.strip()}\nand what came is\n{printed}")


def main(arguments: Sequence[str]) -> None:
    """Run pages with an interpreter, and say which."""
    python, pages = Path(arguments[0]).absolute(), [Path(each).resolve() for each in arguments[1:]]
    with Forks(python) as forks:
        for page in pages or RUN:
            with tempfile.TemporaryDirectory(prefix="toolreel-docs-") as empty:
                folder = Path(empty) / "page"
                if page.parent.parent == ROOT / "examples":
                    shutil.copytree(page.parent, folder, ignore=shutil.ignore_patterns("__pycache__", ".*"))
                folder.mkdir(exist_ok=True)
                run_page(page, folder, forks)
            sys.stdout.write(f"  {page.relative_to(ROOT)}: as it says\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
