"""What scenarios on a workspace have in common: how they begin, and what has to be there in the end."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from toolreel_core._conversation.message import SystemMessage, UserMessage
from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core.evals._scenarios.checks import outcome, says_done, world_has
from toolreel_core.evals._scenarios.scenario import Setting
from toolreel_core.evals._worlds.workspace import Mishaps, Workspace
from toolreel_core.evals._worlds.workspace_tools import WORKSPACE_TOOLS

_NO_MISHAPS: Final = Mishaps()

DONE: Final = outcome("final", says_done)
DRAFT: Final = outcome("draft", world_has("/draft/foo", "bar"))


def opening(
    *system: str, draft: Tree | None = None, mishaps: Mishaps = _NO_MISHAPS
) -> Callable[[str], Setting]:
    """How a scenario on a workspace begins: the system text in lines, and a user who names the workspace."""
    return partial(_begun, "\n".join(system), draft, mishaps)


def _begun(system: str, draft: Tree | None, mishaps: Mishaps, seed: str) -> Setting:
    world = Workspace.of(seed, draft=draft, mishaps=mishaps)
    messages = (SystemMessage(system), UserMessage(f"workspace_id={world.id}"))
    return Setting(messages, WORKSPACE_TOOLS, world)


def patch(value: Json = "bar", /, path: str = "/draft/foo", **more: Json) -> Tree:
    """The arguments of a ``state_patch`` that sets one value."""
    return {**more, "request_id": "r1", "ops": [{"op": "set", "path": path, "value": value}]}
