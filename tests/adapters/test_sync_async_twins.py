"""Sync and async twins are alike line by line: what is mended in one must be mended in the other."""

from __future__ import annotations

import ast
import re
from difflib import unified_diff
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

from toolreel._driver import aio as adrive
from toolreel._driver import performer as perform
from toolreel._driver import ports
from toolreel._driver import sync as drive
from toolreel._replay import journal_performer as rehearsal
from toolreel.http import _httpx_endpoint as http
from toolreel.tools import _hosts as routing

MODULES: Final = [(drive, adrive)]
CLASSES: Final = [
    (ports, "Endpoint"),
    (ports, "StreamingPerformer"),
    (ports, "ToolHost"),
    (ports, "Approver"),
    (ports, "Clock"),
    (ports, "Performer"),
    (perform, "Later"),
    (perform, "NoTools"),
    (perform, "Ports"),
    (rehearsal, "Rehearsal"),
    (routing, "Router"),
    (http, "HttpEndpoint"),
]

OTHER_NAMES: Final = {
    "arun": "run",
    "ago_on": "go_on",
    "astream": "stream",
    "astream_on": "stream_on",
    "apulled": "pulled",
    "async_reading": "reading",
    "aspeak": "speak",
    "aclose": "close",
    "aiter": "iter",
    "handle_async_request": "handle_request",
    "async_transport": "sync_transport",
    "async_trace": "trace",
    "aclosing": "closing",
    "async_pieces_of": "pieces_of",
    "SyncResponse": "Response",
    "SyncClientBuilder": "ClientBuilder",
    "SyncClient": "Client",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
}
"""Names that differ by more than the prefix ``Async``."""

NOT_ALIKE: Final = {
    "_answers",
    "Iterator",
    "MissingExtra",
    "SystemClock",
}
"""What has no counterpart: several effects are performed at the same time by threads there, by tasks here
(``_answers``), and only the async clock needs a package."""

OWN_METHODS: Final = {
    ("HttpEndpoint", "send"),
    ("AsyncHttpEndpoint", "send"),
    ("HttpEndpoint", "stream"),
    ("AsyncHttpEndpoint", "stream"),
}
"""Methods without a counterpart: an async exchange can be cancelled at its deadline."""


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
    tree.body = [node for node in tree.body if getattr(node, "name", "") not in NOT_ALIKE]
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node) is not None and len(node.body) > 1:
                del node.body[0]
        elif isinstance(node, ast.ImportFrom):
            node.names = [alias for alias in node.names if alias.name not in NOT_ALIKE]
            node.names.sort(key=lambda alias: OTHER_NAMES.get(alias.name, alias.name).removeprefix("Async"))
    tree.body = [node for node in tree.body if not isinstance(node, ast.ImportFrom) or node.names]
    text = re.sub(r"\bAsync(?=[A-Z])|\basync |\bawait ", "", ast.unparse(tree))
    text = text.replace(", None, None]", ", None]")  # a sync generator also returns something
    text = re.sub(r"\w+", lambda word: OTHER_NAMES.get(word[0], word[0]), text)
    return text.splitlines()


def lines_of_class(module: ModuleType, name: str) -> list[str]:
    body = [node for node in tree_of(module).body if isinstance(node, ast.ClassDef) and node.name == name]
    for node in body:
        node.body = [each for each in node.body if (name, getattr(each, "name", "")) not in OWN_METHODS]
    return uncoloured(ast.Module([*body], []))


def compare(one: list[str], other: list[str]) -> None:
    assert len(one) > 2
    if one != other:
        pytest.fail("\n".join(unified_diff(one, other, "sync", "async", lineterm="")), pytrace=False)


@pytest.mark.parametrize(("one", "other"), MODULES)
def test_the_modules_are_alike(one: ModuleType, other: ModuleType) -> None:
    compare(uncoloured(tree_of(one)), uncoloured(tree_of(other)))


@pytest.mark.parametrize(("module", "name"), CLASSES)
def test_the_classes_are_alike(module: ModuleType, name: str) -> None:
    compare(lines_of_class(module, name), lines_of_class(module, f"Async{name}"))


def test_every_class_that_has_a_twin_is_compared() -> None:
    twins = [
        (module, node.name.removeprefix("Async"))
        for module in (
            ports,
            perform,
            rehearsal,
            routing,
            http,
        )
        for node in tree_of(module).body
        if isinstance(node, ast.ClassDef) and node.name.startswith("Async")
        if node.name.removeprefix("Async") not in NOT_ALIKE
    ]
    assert twins == CLASSES
