"""One task on a workspace, which all scenarios on workspaces share: a value to be written, and its calls.

The first value in quotes is what stands there before, and the examples of calls have another one than is
asked for, so that copying from the prompt does not do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolreel_core._conversation import SystemMessage, UserMessage
from toolreel_core._jsontext import Tree
from toolreel_core.evals._scenarios.checks import called_before, exercise, outcome, says_done, world_has
from toolreel_core.evals._scenarios.draws import Draws, word
from toolreel_core.evals._scenarios.scenario import Case, Check
from toolreel_core.evals._scenarios.scripted_model import Line, ScenarioScripts, call
from toolreel_core.evals._worlds.facts_and_draft import Mishaps, Workspace, workspace_tools

_FIELDS: Final = ("title", "status", "owner", "label", "topic", "colour", "place", "branch", "theme", "stage")
FINAL: Final = "Done."


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be written where, and the calls that do it or do not."""

    seed: str
    path: str
    other: str
    """A path that may not be patched."""
    old: str
    value: str
    example: str
    wrong: str

    @classmethod
    def of(cls, draws: Draws) -> Task:
        """The task of a trial."""
        path, other = (f"/draft/{name}" for name in draws.several("fields", _FIELDS, 2))
        values = (word(draws, what) for what in ("old", "value", "example", "wrong"))
        return cls(draws.seed, path, other, *values)

    @property
    def names(self) -> dict[str, str]:
        """What the texts are filled with."""
        return {
            "path": self.path,
            "other": self.other,
            "old": self.old,
            "value": self.value,
            "example": self.example,
        }

    def patch(self, value: str = "", path: str = "") -> Tree:
        """The arguments of a ``state_patch`` that sets one value: the right one, if none is given."""
        operation: Tree = {"op": "set", "path": path or self.path, "value": value or self.value}
        return {"request_id": "r1", "ops": [operation]}

    @property
    def written(self) -> Check:
        """The check of the draft."""
        return outcome("draft", world_has(self.path, self.value))

    def case(
        self,
        *system: str,
        checks: tuple[Check, ...],
        scripts: ScenarioScripts,
        draft: Tree | None = None,
        mishaps: Mishaps | None = None,
    ) -> Case:
        """The case of these lines and scripts."""
        there = {self.path.removeprefix("/draft/"): self.old, **(draft or {})}
        world = Workspace.of(self.seed, draft=there, mishaps=mishaps or Mishaps(), allowed=self.path)
        lines = "\n".join(system)
        for name, what in self.names.items():
            lines = lines.replace(f"<{name}>", what)
        messages = (SystemMessage(lines), UserMessage(f"workspace_id={world.id}"))
        return Case(messages, workspace_tools(self.path), world, (DONE, self.written, *checks), scripts)


DONE: Final = outcome("final", says_done)
READ_FIRST: Final = exercise("state_get_first", called_before("state_get", before="state_patch"))
READ: Final = call("state_get")
READ_THERE: Final = call("state_get", workspace_id="$workspace")


def patching(task: Task, value: str = "", /, workspace: str = "") -> Line:
    """The call that sets a value: the right one, if none is given."""
    there: Tree = {"workspace_id": workspace} if workspace else {}
    return call("state_patch", **{**there, **task.patch(value)})
