"""Folders of skills that tests write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from toolreel_core._jsontext import Json, canonical
from toolreel_core._protocol import RunTool, ToolReturned

PDF = "---\nname: pdf-forms\ndescription: Fills PDF forms.\n---\n# Forms\n\nRead references/FORMS.md.\n"


def front(name: str = "pdf-forms", description: str = "Fills PDF forms.", **further: str) -> str:
    """A ``SKILL.md`` with these fields."""
    fields = {"name": name, "description": description, **further}
    return "---\n" + "".join(f"{key}: {value}\n" for key, value in fields.items()) + "---\nDo it.\n"


def write_skill(
    folder: Path, text: str | bytes = PDF, files: Mapping[str, str | bytes] | None = None
) -> Path:
    """A skill's folder with its files."""
    for name, content in {"SKILL.md": text, **(files or {})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def call(tool: str, /, **arguments: Json) -> RunTool:
    """The effect that runs a tool."""
    return RunTool(4, "call_a", tool, canonical(arguments), key="key-1")


def told(returned: ToolReturned) -> dict[str, Json]:
    """What a tool returned, as an object."""
    tree: Json = json.loads(returned.output)
    assert isinstance(tree, dict)
    return tree


def error(returned: ToolReturned) -> tuple[str, str]:
    """The code and the words of the one thing that went wrong."""
    tree = told(returned)
    assert tree["ok"] is False
    match tree["errors"]:
        case [{"code": str() as code, "message": str() as message}]:
            return code, message
        case other:
            raise AssertionError(other)
