"""Files of an evaluation: its header, atomic writes, and the JSON Schemas of what is stored."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from toolreel._errors import ResultsError
from toolreel._journal.migrations import Versions
from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core.evals._records.record import VERSION

HEADERS: Final[Versions[Tree]] = Versions("header of an evaluation", ResultsError)
"""One migration a version, from the header of the version before."""


@dataclass(frozen=True, slots=True)
class Header:
    """What an evaluation was begun with."""

    plan: Tree
    """The plan, as :meth:`~toolreel_core.evals._plan.eval_plan.EvalPlan.tree` tells it."""
    created: str = ""
    """When, as ``2026-11-22T08:30:00Z``."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Of toolreel and of what it runs on, by name."""
    catalogue: str = ""
    """The digest of all scenarios, presets, models and sampling profiles."""
    taxonomy: int = 1
    """The version of the categories."""
    version: int = VERSION
    """Of the form of header and records."""

    def tree(self) -> Tree:
        """The header as it stands in its file."""
        return {
            "toolreel_evaluation": self.version,
            "created": self.created,
            "versions": dict(self.versions),
            "catalogue": self.catalogue,
            "taxonomy": self.taxonomy,
            "plan": self.plan,
        }


def read_header(path: Path, versions: Versions[Tree] = HEADERS) -> Header:
    """The header in a file, of any version that there has been.

    :raises ResultsError: if there is none, or it cannot be read
    """
    try:
        tree: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ResultsError(
            f"{path}: there is no evaluation; name a directory that `toolreel eval run --out` has made"
        ) from None
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path}: cannot be read: {error}") from None
    if not isinstance(tree, dict):
        raise ResultsError(f"{path}: expected an object; restore the file")
    tree = versions.newest_of(tree, tree.get("toolreel_evaluation"), str(path))
    try:
        return Header(
            plan=_object(tree, "plan"),
            created=str(tree["created"]),
            versions={str(name): str(version) for name, version in _object(tree, "versions").items()},
            catalogue=str(tree["catalogue"]),
            taxonomy=int(tree["taxonomy"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ResultsError(f"{path}: {error} is missing or wrong; restore the file") from None


def write_header(path: Path, header: Header) -> None:
    """Write the header beside the old one, and move it into its place once it is on the disk.

    :raises OSError: if the file system refuses
    """
    draft = path.with_name(f".{path.name}.tmp")
    with draft.open("w", encoding="utf-8") as file:
        json.dump(header.tree(), file, indent=2, ensure_ascii=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _object(tree: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    value = tree[key]
    if not isinstance(value, Mapping):
        raise TypeError(key)
    return value


def write_atomically(path: Path, text: str) -> None:
    """Replace a file atomically: write a draft, sync it to disk, rename it.

    :raises ResultsError: if it cannot be written
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("x", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            draft.unlink()


StoredFile: TypeAlias = Literal["header", "record"]
"""``header`` is the whole of ``header.json``, ``record`` one line of ``journal.jsonl``."""


def schema_of(what: StoredFile) -> dict[str, Any]:
    """The schema of the newest version, in draft 2020-12.

    >>> schema_of("record")["properties"]["tools_sent"]
    {'type': 'boolean'}
    """
    text = files("toolreel.evals._store").joinpath(f"schema/{what}-{VERSION}.json").read_text("utf-8")
    return cast("dict[str, Any]", json.loads(text))
