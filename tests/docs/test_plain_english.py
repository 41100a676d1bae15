"""Words that read as translated are in no page, docstring or comment."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md"))
FOLDERS = ("domain", "adapters", "examples", "benchmarks", "tests")
# Not in a slug, such as 0110-times-are-beside-the-record: a link to a decision keeps its address.
UNUSED = re.compile(
    r"(?<!-)\b(anew|beside|once more|so many|by itself|to the byte|the far side)\b(?!-)", re.I
)


def prose(source: str) -> Iterator[tuple[int, str]]:
    """The docstrings and comments of a module, with the line on which each begins."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.lineno, str(node.value.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def found(path: Path) -> list[str]:
    text = path.read_text()
    if not UNUSED.search(text):  # parsing all modules would take eight seconds
        return []
    parts = prose(text) if path.suffix == ".py" else enumerate(text.splitlines(), 1)
    place = path.relative_to(ROOT)
    return [f"{place}:{line}: {word[1]}" for line, part in parts for word in UNUSED.finditer(part)]


def test_no_page_uses_them() -> None:
    assert [each for page in PAGES for each in found(page)] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_docstring_and_no_comment_uses_them(folder: str) -> None:
    modules = [path for path in (ROOT / folder).rglob("*.py") if path != Path(__file__)]
    assert [each for module in modules for each in found(module)] == []
