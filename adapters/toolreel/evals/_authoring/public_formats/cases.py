"""What becomes of the cases of a public data set: scenarios, and what each of them lacks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from toolreel._internal.errors import EvalPlanError
from toolreel._internal.toml_files import read_file
from toolreel_core._internal.config_checks import PlaceError
from toolreel_core._jsontext.canonical import Json, Tree, canonical
from toolreel_core.evals._own_scenarios.own_scenario import own_scenario
from toolreel_core.evals._own_scenarios.placeholders import escaped

_UNFIT: Final = re.compile(r"[^a-z0-9]+")
"""Characters that a scenario's name cannot have."""
_TYPES: Final = {"dict": "object", "float": "number", "tuple": "array", "int": "integer", "str": "string"}
"""Python's words for types in schemas, and those of JSON Schema."""


_NOTHING: Final[Tree] = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class ImportedCase:
    """One case of a data set."""

    case: str
    """Its id there."""
    tree: Tree | None
    """The scenario; ``None`` if it cannot be one."""
    left_out: tuple[str, ...] = ()
    """What of the case is not in the scenario; or why there is none."""


class NotCarriedOver(Exception):
    """A case that would be another task as a scenario."""


@dataclass(slots=True)
class CaseDraft:
    """Gathers a scenario and what it lacks."""

    case: str
    tree: dict[str, Json] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def lacks(self, what: str) -> None:
        """Note what is not carried over, each thing once."""
        if what not in self.left_out:
            self.left_out.append(what)

    def imported(self) -> ImportedCase:
        """The case, with its scenario checked as one that was read from a file."""
        try:
            own_scenario(self.tree)
        except PlaceError as error:
            return ImportedCase(self.case, None, (f"it makes no valid scenario: {error}",))
        return ImportedCase(self.case, self.tree, tuple(self.left_out))


def scenario_name(case: str, prefix: str) -> str:
    """A scenario's name for the id of a case.

    >>> scenario_name("multi_turn_base_0", "bfcl"), scenario_name("[x]Y-2", "tau2")
    ('multi_turn_base_0', 'x_y_2')
    """
    name = _UNFIT.sub("_", case.lower()).strip("_")
    return (name if name[:1].isalpha() else f"{prefix}_{name}")[:64].strip("_")


def schema_of(tree: Any) -> dict[str, Json]:  # noqa: ANN401 - a value of data
    """A JSON Schema out of one that names types as Python does.

    >>> schema_of({"type": "dict", "properties": {"n": {"type": "float"}}})
    {'type': 'object', 'properties': {'n': {'type': 'number'}}}
    """
    schema = (
        {key: value for key, value in tree.items() if key != "optional"} if isinstance(tree, Mapping) else {}
    )
    kind = schema.get("type")
    if kind == "any":
        del schema["type"]
    elif isinstance(kind, str):
        schema["type"] = _TYPES.get(kind, kind)
    if isinstance(schema.get("properties"), Mapping):
        schema["properties"] = {name: schema_of(part) for name, part in schema["properties"].items()}
    if isinstance(schema.get("items"), Mapping):
        schema["items"] = schema_of(schema["items"])
    return schema


def noting_tool(name: str, description: str, parameters: Tree) -> dict[str, Json]:
    """A tool that takes note of its calls; what it returned in the data set's own world is not known."""
    return {"name": name, "description": description, "parameters": parameters or _NOTHING, "effect": True}


def wanted_calls(calls: Iterable[tuple[str, Tree]], draft: CaseDraft) -> list[dict[str, Json]]:
    """The checks that demand calls, each once."""
    checks, seen = list[dict[str, Json]](), set[str]()
    for name, arguments in calls:
        key = canonical([name, arguments])
        if key in seen:
            draft.lacks(f"that {name} is called again with the same arguments: one such call is enough here")
            continue
        seen.add(key)
        checks.append({
            "called": name,
            "name": f"call_{len(seen)}_{name}"[:64],
            **({"with": escaped(dict(arguments))} if arguments else {}),
        })  # fmt: skip
    return checks


def scripted_call(name: str, arguments: Tree) -> dict[str, Json]:
    """A call in a script."""
    return {"call": name, "with": escaped(dict(arguments))}


def json_file(path: Path) -> Any:  # noqa: ANN401 - a value of data
    """What is in a JSON file, or the list of what is in its lines.

    :raises EvalPlanError: if it cannot be read, or is neither
    """
    text = read_file(path, EvalPlanError, "there is no such file; correct its name")
    try:
        return json.loads(text)
    except ValueError:
        pass
    rows = list[Any]()
    for number, line in enumerate(text.splitlines(), 1):
        try:
            rows += [json.loads(line)] if line.strip() else []
        except ValueError as error:
            raise EvalPlanError(f"{path}, line {number}: neither JSON nor JSON lines: {error}") from None
    return rows


def rows_of(path: Path) -> list[Mapping[str, Any]]:
    """The objects of a file: a list of them, or one a line.

    :raises EvalPlanError: if there are none, or something else is among them
    """
    found = json_file(path)
    rows = found if isinstance(found, list) else [found]
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        raise EvalPlanError(f"{path}: expected JSON objects, as a list or one a line")
    return rows


def write_imported(cases: Sequence[ImportedCase], path: Path) -> None:
    """Write the scenarios into a file in JSON lines.

    :raises EvalPlanError: if there are none, or the file is there or cannot be written
    """
    from toolreel.evals._authoring.template import write_new

    lines = [canonical(case.tree) for case in cases if case.tree is not None]
    if not lines:
        raise EvalPlanError("no case could be carried over, so nothing was written")
    write_new(path, "".join(f"{line}\n" for line in lines))
