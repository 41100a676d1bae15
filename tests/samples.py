"""Small values that several tests begin with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from toolreel_core._conversation import Message, UserMessage, project_history
from toolreel_core._plan import Plan
from toolreel_core._settings import IdStyle, Provider
from toolreel_core._tools import ToolDefinition, ToolSurface

ROOT = Path(__file__).resolve().parents[1]

ECHO = ToolDefinition.of(
    "echo",
    "Say it again.",
    {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)
PING = ToolDefinition.of("ping", "Is anybody there?")
IF_YOUR_OWN = (
    "If it is your own, import the module that registers it before you make or load the plan; a command does "
    "with --import MODULE"
)

ID_FORMS: Mapping[IdStyle, str] = {
    "keep": r".+",
    "openai": r"[A-Za-z0-9_-]{1,40}",
    "kimi": r"functions\.[A-Za-z0-9_.-]+:[0-9]+",
    "alnum9": r"[A-Za-z0-9]{9}",
}
"""What an id in each style looks like."""
PLAN = Plan("m", (UserMessage("hi"),), tools=ToolSurface((ECHO, PING)))


def project(history: Iterable[Message], provider: Provider | None = None) -> tuple[Message, ...]:
    """The messages that go out for a history."""
    return tuple(out.message for out in project_history(history, provider or Provider()))


def complaint(kind: type[Exception], act: Callable[[], object]) -> str:
    """The text of the error that an act ends with."""
    with pytest.raises(kind) as caught:
        act()
    return str(caught.value)


def printed_under(hash_seed: int, program: str) -> str:
    """What a program prints in a process of its own, under this hash seed."""
    path = os.pathsep.join(str(ROOT / name) for name in ("domain", "adapters", "."))
    environment = os.environ | {"PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def corpus_rows(corpus: str) -> list[dict[str, Any]]:
    """The rows of a file of tests/corpora, or of several, named without the ending."""
    paths = sorted((ROOT / "tests" / "corpora").glob(f"{corpus}.jsonl"))
    assert paths, f"there is no {corpus}.jsonl"
    return [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]


def worked(of: str, corpus: str = "schemas") -> list[Any]:
    """The worked cases of a file of tests/corpora that a test is about: the value or values of each."""
    cases = [values for name, *values in (row.values() for row in corpus_rows(corpus)) if name == of]
    assert cases, f"{corpus}.jsonl has no rows about {of!r}"
    return [tuple(values) if len(values) > 1 else values[0] for values in cases]
