"""Where fuzzing begins: the worked cases and recordings of the project, as inputs of each target."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.fuzz.fragments import CORPORA, FRAGMENTS
from tests.wire_forms import OTHER_FORMS

_CASSETTES = CORPORA.parents[1] / "cassettes"
_MOST_FRAMES = 12


def of_arguments() -> Iterator[bytes]:
    """The arguments of the worked replies."""
    for text in sorted({*_arguments(_rows("wire.jsonl")), *FRAGMENTS[:20]}):
        yield b"\x00\x00" + text.encode()


def of_replies() -> Iterator[bytes]:
    """The bodies of the worked replies, read without dialects and with all."""
    for row in _rows("wire.jsonl"):
        text = row["raw"] if "raw" in row else json.dumps(row["body"], ensure_ascii=False)
        for config in b"\x00\x02":
            yield bytes([config, 0]) + text.encode("utf-8", "replace")


def of_forms() -> Iterator[bytes]:
    """The bodies and streams of the worked cases of Responses and Messages."""
    for place, form in enumerate(OTHER_FORMS):
        for row in _rows(f"wire-{form}.jsonl"):
            text = row["raw"] if "raw" in row else json.dumps(row["body"], ensure_ascii=False)
            yield bytes([place, 0]) + text.encode("utf-8", "replace")


def of_streams() -> Iterator[bytes]:
    """The beginnings and ends of the recorded streams."""
    for path in sorted(_CASSETTES.rglob("*.yaml")):
        lines = path.read_text(encoding="utf-8").splitlines()
        frames = [line.strip() for line in lines if line.strip().startswith("data: ")]
        for some in (frames[:_MOST_FRAMES], frames[-_MOST_FRAMES:]):
            yield b"\x00\x00" + "".join(f"{frame}\n\n" for frame in some).encode()


def of_texts() -> Iterator[bytes]:
    """The worked texts, with all dialects."""
    rows = [*_rows("text-calls.jsonl")]
    contents = [row["content"] for row in rows]
    for path in sorted((CORPORA / "dialects").glob("*.jsonl")):
        contents += [row["text"] for row in _rows(f"dialects/{path.name}")]
    for content in dict.fromkeys(contents):
        yield b"\x00\x00\x00\x00" + content.encode("utf-8", "replace")


def _rows(name: str) -> Iterator[dict[str, Any]]:
    for line in (CORPORA / name).read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def _arguments(tree: Any) -> Iterator[str]:  # noqa: ANN401 - any part of any row
    """Whatever text stands under ``arguments``, at any depth."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key == "arguments" and isinstance(value, str):
                yield value.encode("utf-8", "replace").decode()
            yield from _arguments(value)
    elif not isinstance(tree, str) and hasattr(tree, "__iter__"):
        for value in tree:
            yield from _arguments(value)
