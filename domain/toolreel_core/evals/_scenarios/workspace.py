"""The workspace: the world of the reference's scenarios, with facts, a draft and its tools.

Its tool for patches allows one operation at one path of the draft, so that a scenario can provoke a
rejection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from toolreel_core._jsontext import NOTHING, Json, JsonText, Tree, canonical, parse
from toolreel_core._tools import ToolDefinition, ToolSurface
from toolreel_core.evals._scenarios.world import at, failure, steps, success, with_value

ALLOWED: Final = "/draft/foo"
"""The path that the case study's scenarios patch."""

_PLACEHOLDER: Final = "workspace_id"
"""Models copy the parameter's name where they should put a value."""
_QUOTES: Final = "\"'`"


Mishap: TypeAlias = Literal["", "failing_patch", "cut_read", "huge_read"]
"""What goes wrong once, without a tool's doing: the first patch fails, though it is right; of the first read,
only half arrives, or it also returns 50,000 bytes of unrequested data."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A draft that can be changed; its facts, locks and settings stay empty."""

    id: str
    draft: JsonText = NOTHING
    mishap: Mishap = ""
    draft_version: int = 0
    """Counted up by every patch that changes something."""
    reads: int = 0
    patches: int = 0
    allowed: str = ALLOWED
    """The one path that ``state_patch`` may set."""

    def contents(self) -> Json:
        """The whole of it."""
        return {"id": self.id, **self._whole()}

    def call(self, name: str, arguments: Tree) -> tuple[Workspace, JsonText]:
        """Answer a call as the reference's executor does."""
        match name:
            case "state_get":
                asked = replace(self, reads=self.reads + 1)
            case "state_patch":
                asked = replace(self, patches=self.patches + 1)
            case _:
                why = f"{name} was not run: this workspace has no such tool."
                return self, failure(name, "TOOL_NOT_IMPLEMENTED", why)
        given = arguments.get("workspace_id")
        meant = given.strip() if isinstance(given, str) else given
        if meant not in (None, "", _PLACEHOLDER, self.id):
            why = f"There is no workspace {meant!r}. Leave workspace_id out to use the current one."
            return asked, failure(name, "WORKSPACE_NOT_FOUND", why)
        return asked._read(arguments) if name == "state_get" else asked._patched(arguments)

    def _read(self, arguments: Tree) -> tuple[Workspace, JsonText]:
        select = _pointers(arguments.get("select"))
        if isinstance(select, str):
            return self, failure("state_get", "ARGUMENT_ERROR", select)
        whole = self._whole()
        data: Tree = {"snapshot": {pointer: at(whole, pointer) for pointer in select} if select else whole}
        if self.reads == 1 and self.mishap == "huge_read":
            data = {**data, "history": "0" * 50_000}
        text = success("state_get", data)
        # No JSON any more, as when a connection breaks off in the middle.
        cut = self.reads == 1 and self.mishap == "cut_read"
        return self, JsonText(text[: len(text) // 2]) if cut else text

    def _patched(self, arguments: Tree) -> tuple[Workspace, JsonText]:
        operations = arguments.get("ops")
        if why := _forbidden(operations, self.allowed):
            return self, failure("state_patch", "ARGUMENT_ERROR", why)
        if self.patches == 1 and self.mishap == "failing_patch":
            why = "The workspace could not be written just now; nothing was changed. Call state_patch again."
            return self, failure("state_patch", "UNAVAILABLE", why)
        draft, items = parse(self.draft), _items(operations)
        for item in items:
            value = item.get("value") if isinstance(item, Mapping) else None
            draft = with_value(draft, steps(self.allowed)[1:], value)
        after = replace(self, draft=canonical(draft), draft_version=self.draft_version + 1)
        done: Tree = {"draft_etag": f"draft:{after.draft_version}", "applied": len(items)}
        return after, success("state_patch", done)

    def _whole(self) -> dict[str, Json]:
        return {
            "facts": {},
            "draft": parse(self.draft),
            "locks": {"paths": []},
            "ui_state": {},
            "versions": {"facts": "facts:0", "draft": f"draft:{self.draft_version}"},
        }


def _pointers(select: Json) -> tuple[str, ...] | str:
    """The pointers that a model means, in whatever way it has written them, each once."""
    if select is None:
        return ()
    texts = [item for item in _items(select) if isinstance(item, str)]
    if isinstance(select, str) or not isinstance(select, Sequence) or len(texts) < len(select):
        return "select must be a list of JSON pointers, such as /draft/foo."
    tidied = (text.strip().strip(_QUOTES).strip().removeprefix("#") for text in texts)
    return tuple(dict.fromkeys(text if text.startswith("/") else f"/{text}" for text in tidied if text))


def _forbidden(operations: Json, allowed: str) -> str:
    """Why the tool rejects the operations; empty if it accepts them."""
    items = _items(operations)
    if not items:
        return "ops must be a list of at least one operation."
    for item in items:
        name, path = (item.get("op"), item.get("path")) if isinstance(item, Mapping) else (None, None)
        if (name, path) != ("set", allowed):
            return f"Only the op set at the path {allowed} is allowed here, got {name!r} at {path!r}."
    return ""


def _items(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _object(properties: Tree, *required: str) -> Tree:
    schema: dict[str, Json] = {"type": "object", "properties": properties}
    needed: Tree = {"required": list(required)} if required else {}
    return {**schema, **needed, "additionalProperties": False}


_WORKSPACE_ID: Final[Tree] = {
    "type": "string",
    "description": "Which workspace; leave it out for the current one.",
}
STATE_GET: Final = ToolDefinition.of(
    "state_get",
    "Read the workspace: its facts, draft, locks and versions.",
    _object(
        {
            "workspace_id": _WORKSPACE_ID,
            "select": {
                "type": "array",
                "items": {"type": "string"},
                "description": "JSON pointers of what to read; leave it out to read everything.",
            },
        }
    ),
    read_only=True,
)

FACTS_COMMIT: Final = ToolDefinition.of(
    "facts_commit",
    "Turn proposed facts into facts, once a person has confirmed them.",
    _object(
        {
            "workspace_id": _WORKSPACE_ID,
            "request_id": {"type": "string"},
            "proposal_id": {"type": "string"},
            "user_confirmed": {"type": "boolean"},
        },
        *("workspace_id", "request_id", "proposal_id", "user_confirmed"),
    ),
    # Never sent and never run: it shows that what is hidden stays hidden.
    exposed=False,
)


@lru_cache(maxsize=16)
def workspace_tools(example: str = ALLOWED) -> ToolSurface:
    """The tools of a workspace.

    :param example: the path that their descriptions give as an example
    """
    operation = _object(
        {
            "op": {"type": "string", "description": "What to do, such as set."},
            "path": {"type": "string", "description": f"JSON pointer of the place, such as {example}."},
            "value": {"description": "What shall stand there."},
            "index": {"type": "integer", "description": "Where in a list, for insert."},
        },
        *("op", "path"),
    )
    patch = ToolDefinition.of(
        "state_patch",
        "Change the draft of the workspace; either all operations are done or none.",
        _object(
            {
                "workspace_id": _WORKSPACE_ID,
                "request_id": {"type": "string", "description": "A short name for this change, such as r1."},
                "ops": {"type": "array", "items": operation, "description": "A list of operations."},
            },
            *("request_id", "ops"),
        ),
    )
    return ToolSurface((STATE_GET, patch, FACTS_COMMIT))
