"""Draws the pictures of README and docs from recordings: ``python docs/pictures.py``; it needs Chromium."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import ViewportSize, sync_playwright
from rich.console import Console
from rich.text import Text

from toolreel._replay import recording_page

HERE = Path(__file__).parent
OUTSIDE = re.compile(r"@font-face \{.*?\}\s*|<!-- Generated.*?-->", re.DOTALL)


CASSETTES = HERE.parent / "cassettes"
SIZE: ViewportSize = {"width": 1200, "height": 780}


def main() -> None:
    """Write all pictures."""
    draw_demo()
    draw_pages()
    draw_list()


def session(name: str) -> Path:
    """A recorded session of the local model."""
    return CASSETTES / name / "local--qwen2.5-coder-1.5b.yaml"


def draw_pages() -> None:
    """Write ``run-page.png`` and ``two-runs.png``: pages as a browser shows them."""
    pages = {
        "run-page": recording_page(session("nudged")),
        "two-runs": recording_page(session("recovered"), session("empty-final")),
    }
    path = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    with sync_playwright() as playwright, TemporaryDirectory() as folder:
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        for name, text in pages.items():
            file = Path(folder) / f"{name}.html"
            file.write_text(text, "utf-8")
            page = browser.new_page(viewport=SIZE)
            page.goto(file.as_uri())
            page.locator(".flow .step").first.wait_for()
            page.screenshot(path=HERE / f"{name}.png")
        browser.close()


def draw_list() -> None:
    """Write ``recordings.png``: the list of the recorded sessions, from a server of its own."""
    path = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    command = [sys.executable, "-m", "toolreel", "view", str(CASSETTES), "--no-open"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
        sync_playwright() as playwright,
    ):
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        page = browser.new_page(viewport=SIZE)
        page.goto(server.stdout.readline().strip() if server.stdout else "")
        page.get_by_role("status").filter(has_text=" of ").filter(has_not_text="read").wait_for()
        page.screenshot(path=HERE / "recordings.png")
        browser.close()
        server.terminate()


def draw_demo() -> None:
    """Write ``demo.svg``, which refers to nothing outside of itself."""
    console = Console(
        record=True, width=112, file=io.StringIO(), force_terminal=True, highlight=False, markup=False
    )
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": "112"}
    command = [sys.executable, "-m", "toolreel", "demo"]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    console.print("$ make demo", style="bold")
    console.print(Text.from_ansi(done.stdout.rstrip().rpartition("\n")[0]))  # the last line says what is next
    svg = console.export_svg(title="toolreel demo", unique_id="demo")
    (HERE / "demo.svg").write_text(OUTSIDE.sub("", svg).rstrip() + "\n", "utf-8")


if __name__ == "__main__":
    main()
