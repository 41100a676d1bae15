from __future__ import annotations

import ast
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.audit import no_io, watch_io
from tests.architecture.source import DOMAIN, Module, modules

PURE = {
    "__future__",
    "base64",
    "bisect",
    "collections",
    "collections.abc",
    "contextlib",
    "dataclasses",
    "datetime",  # dates of HTTP headers; ruff bans what reads a clock
    "difflib",
    "enum",
    "fnmatch",
    "functools",
    "graphlib",
    "hashlib",
    "hmac",
    "html",
    "itertools",
    "json",
    "json.encoder",
    "math",
    "operator",
    "re",
    "string",
    "textwrap",
    "types",
    "typing",
}
EDGE = "toolreel_core.__main__"
"""The one module that performs I/O: it reads lines and writes their answers; see docs/decisions/0184."""
LAZY = "toolreel_core._lazy_names"
"""The one module that imports others by name, when one of their names is asked for."""
DEPENDENCIES = {"jsonschema", "pyrsistent", "referencing", "returns", "toolreel_core"}
EFFECTFUL_BUILTINS = {"__import__", "breakpoint", "compile", "eval", "exec", "input", "open", "print"}


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of every module that is imported, at the top or inside a function."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from ((node.lineno, alias.name) for alias in node.names)
            case ast.ImportFrom():
                yield node.lineno, "." * node.level + (node.module or "")
            case _:
                pass


def is_allowed(name: str) -> bool:
    return name in PURE or name.partition(".")[0] in DEPENDENCIES


def test_the_core_imports_only_what_computes() -> None:
    refused = [
        f"{module} line {line}: {name}"
        for module in modules(DOMAIN)
        for line, name in imported(module.tree)
        if not is_allowed(name)
        and (module.name != LAZY or name not in {"dis", "importlib", "sys"})
        and (module.name != EDGE or name not in {"os", "pathlib", "sys"})
    ]
    assert refused == []


def test_the_core_calls_no_builtin_that_acts() -> None:
    acting = [
        (str(module), name) for module in modules(DOMAIN) for name in EFFECTFUL_BUILTINS & called(module)
    ]
    assert acting == []


def called(module: Module) -> set[str]:
    """The names of what a module calls by its name alone."""
    calls = [node for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
    return {node.func.id for node in calls if isinstance(node.func, ast.Name)}


def test_io_is_noticed(tmp_path: Path) -> None:
    with watch_io() as seen:
        (tmp_path / "file").write_text("x")
        os.listdir(tmp_path)
        socket.socket().close()
        subprocess.run([sys.executable, "-c", ""], check=True)
    names = {event.partition("(")[0] for event in seen}
    assert names >= {"open", "os.listdir", "socket.__new__", "subprocess.Popen"}
    with pytest.raises(AssertionError, match=r"I/O in pure code: open\('.*file'"), no_io():
        (tmp_path / "file").write_text("x")
