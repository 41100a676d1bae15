"""Play documents about tool calling as a model's final text, and print the calls that would run.

Usage: ``python -m benchmarks.documents FOLDER``. Each text file below the folder is read with the marked
dialects and with all, and with the worst list of tools: every word that stands where a tool's name could.
"""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from toolreel_core._jsontext import Json
from toolreel_core._text_calls import DIALECTS, MARKED, TextCall, text_calls

SETTINGS = {"marked": MARKED, "everything": DIALECTS}
_NAME = re.compile(
    r"""["']?(?:name|tool|tool_name|recipient_name)["']?\s*[:=]\s*["']?([\w.:-]{1,80})"""  # JSON, attributes
    r"|<(?:function|invoke)=([\w.:-]{1,80})|<([a-z][\w-]{1,80})>"  # elements
    r"|\b([a-zA-Z_][\w.]{1,80})\(|^([\w.-]{1,80})$"  # Python; a name in a line of its own
    r"|(?:tool_call>|functions\.|Action:|>>>|sep[|｜]>)\s*([\w.-]{1,80})",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Played:
    """One document with one setting."""

    name: str
    setting: str
    calls: tuple[TextCall, ...]
    """Those of offered tools; a call of any other name is refused and never runs."""
    rejected: tuple[str, ...]


def tools_of(text: str) -> Mapping[str, Json]:
    """Every word that could be a tool's name, without a required parameter."""
    names = {name for groups in _NAME.findall(text) for name in groups if name[:1].isalpha()}
    return {name: {"type": "object"} for name in sorted(names)}


def play(folder: Path) -> Iterator[Played]:
    """Read each text file below a folder with each setting."""
    for path in sorted(folder.rglob("*")):
        try:
            text = path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError):
            continue
        tools = tools_of(text)
        for setting, dialects in SETTINGS.items():
            found = text_calls(text, tools=tools, dialects=dialects, finish="stop", schemas=tools)
            calls = tuple(call for call in found.calls if call.name in tools)
            yield Played(str(path.relative_to(folder)), setting, calls, found.rejected)


def main() -> int:
    """Print each document of which a call would run, and the sums."""
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    played = list(play(folder))
    if not played:
        print(f"{folder}: no text files", file=sys.stderr)
        return 2
    for setting in SETTINGS:
        texts = [one for one in played if one.setting == setting]
        running = [one for one in texts if one.calls]
        for one in running:
            calls = ", ".join(f"{call.name} ({call.dialect})" for call in one.calls)
            print(f"{setting}: {one.name}: {calls}")
        large = sum("too_large" in one.rejected for one in texts)
        count = sum(len(one.calls) for one in running)
        print(f"{setting}: {len(texts)} documents, {len(running)} run {count} calls; {large} too large")
    return 0


if __name__ == "__main__":
    sys.exit(main())
