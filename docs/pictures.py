"""Draws the README's pictures from real runs: ``python docs/pictures.py``."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console

from toolreel import replay
from toolreel._cli.output.whole_run import show_outcome, show_plan, show_turns
from toolreel.demo._recorded_session import demo_cassette, demo_drivers
from toolreel.demo._workspace import workspace

HERE = Path(__file__).parent
OUTSIDE = re.compile(r"@font-face \{.*?\}\s*|<!-- Generated.*?-->", re.DOTALL)


def main() -> None:
    """Write ``demo.svg``, which refers to nothing outside of itself."""
    console = Console(
        record=True, width=112, file=io.StringIO(), force_terminal=True, highlight=False, markup=False
    )
    replays = [replay(demo_cassette(), driver=driver, tools=workspace) for driver in demo_drivers()]
    ended = replays[0].run
    console.print("$ make demo", style="bold")
    show_plan(console, ended)
    show_turns(console, ended)
    show_outcome(console, ended)
    for replayed in replays:
        console.print(f"replay      {replayed.proof}", style="green")
    svg = console.export_svg(title="toolreel demo", unique_id="demo")
    (HERE / "demo.svg").write_text(OUTSIDE.sub("", svg).rstrip() + "\n", "utf-8")


if __name__ == "__main__":
    main()
