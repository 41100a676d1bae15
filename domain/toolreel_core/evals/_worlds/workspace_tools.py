"""The tools of a workspace, as a model is told of them."""

from __future__ import annotations

from typing import Final

from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core._tools.surface import ToolDefinition, ToolSurface


def _object(properties: Tree, *required: str) -> Tree:
    schema: dict[str, Json] = {"type": "object", "properties": properties}
    needed: Tree = {"required": list(required)} if required else {}
    return {**schema, **needed, "additionalProperties": False}


_WORKSPACE: Final[Tree] = {
    "type": "string",
    "description": "Which workspace; leave it out for the current one.",
}
_OPERATION: Final = _object(
    {
        "op": {"type": "string", "description": "What to do, such as set."},
        "path": {"type": "string", "description": "JSON pointer of the place, such as /draft/foo."},
        "value": {"description": "What shall stand there."},
        "index": {"type": "integer", "description": "Where in a list, for insert."},
    },
    *("op", "path"),
)

STATE_GET: Final = ToolDefinition.of(
    "state_get",
    "Read the workspace: its facts, draft, locks and versions.",
    _object(
        {
            "workspace_id": _WORKSPACE,
            "select": {
                "type": "array",
                "items": {"type": "string"},
                "description": "JSON pointers of what to read; leave it out to read everything.",
            },
        }
    ),
    read_only=True,
)

STATE_PATCH: Final = ToolDefinition.of(
    "state_patch",
    "Change the draft of the workspace; either all operations are done or none.",
    _object(
        {
            "workspace_id": _WORKSPACE,
            "request_id": {"type": "string", "description": "A short name for this change, such as r1."},
            "ops": {"type": "array", "items": _OPERATION, "description": "A list of operations."},
        },
        *("request_id", "ops"),
    ),
)

FACTS_COMMIT: Final = ToolDefinition.of(
    "facts_commit",
    "Turn proposed facts into facts, once a person has confirmed them.",
    _object(
        {
            "workspace_id": _WORKSPACE,
            "request_id": {"type": "string"},
            "proposal_id": {"type": "string"},
            "user_confirmed": {"type": "boolean"},
        },
        *("workspace_id", "request_id", "proposal_id", "user_confirmed"),
    ),
    # Never sent and never run: it shows that what is hidden stays hidden.
    exposed=False,
)

WORKSPACE_TOOLS: Final = ToolSurface((STATE_GET, STATE_PATCH, FACTS_COMMIT))
