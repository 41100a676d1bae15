"""Sync and async twins are alike line by line: what is mended in one must be mended in the other."""

from __future__ import annotations

import ast
import re
from difflib import unified_diff
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

from toolreel._replay import journal_performer as rehearsal
from toolreel.tools import _hosts as routing

CLASSES: Final = [(rehearsal, "Rehearsal"), (routing, "Router")]

OTHER_NAMES: Final = {"arun": "run", "aspeak": "speak", "aclosing": "closing"}
"""Names that differ by more than the prefix ``Async``."""


def tree_of(module: ModuleType) -> ast.Module:
    return ast.parse(Path(str(module.__file__)).read_text("utf-8"))


class _Delegating(ast.NodeTransformer):
    """What a sync generator does by ``yield from``, and an async one, which has none, by a loop."""

    def visit_For(self, node: ast.For) -> ast.AST:
        return self._loop(node)

    def visit_AsyncFor(self, node: ast.AsyncFor) -> ast.AST:
        return self._loop(node)

    def _loop(self, node: ast.For | ast.AsyncFor) -> ast.AST:
        if [ast.unparse(line) for line in node.body] == [f"yield {ast.unparse(node.target)}"]:
            return ast.copy_location(ast.Expr(ast.YieldFrom(node.iter)), node)
        return self.generic_visit(node)


def uncoloured(tree: ast.Module) -> list[str]:
    """The lines of a module as Python itself would lay them out, without what makes it async."""
    tree = _Delegating().visit(tree)
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and ast.get_docstring(node) is not None and len(node.body) > 1:
            del node.body[0]
    text = re.sub(r"\bAsync(?=[A-Z])|\basync |\bawait ", "", ast.unparse(tree))
    text = text.replace(", None, None]", ", None]")  # a sync generator also returns something
    text = re.sub(r"\w+", lambda word: OTHER_NAMES.get(word[0], word[0]), text)
    return text.splitlines()


def lines_of_class(module: ModuleType, name: str) -> list[str]:
    body = [node for node in tree_of(module).body if isinstance(node, ast.ClassDef) and node.name == name]
    return uncoloured(ast.Module([*body], []))


def compare(one: list[str], other: list[str]) -> None:
    assert len(one) > 2
    if one != other:
        pytest.fail("\n".join(unified_diff(one, other, "sync", "async", lineterm="")), pytrace=False)


@pytest.mark.parametrize(("module", "name"), CLASSES)
def test_the_classes_are_alike(module: ModuleType, name: str) -> None:
    compare(lines_of_class(module, name), lines_of_class(module, f"Async{name}"))
