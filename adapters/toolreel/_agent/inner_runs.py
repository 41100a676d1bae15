"""An agent as a tool of another: each call is a run of its own, which the outer run pays for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolreel._driver.run_result import Resting, Run
from toolreel._replay.replay import companion
from toolreel.tools._call_context import ToolError, current_call, spending
from toolreel_core._jsontext.canonical import Json, parse
from toolreel_core._protocol.outcome import Completed

if TYPE_CHECKING:
    from toolreel._agent.agent import Agent


@dataclass(frozen=True, slots=True)
class InnerRuns:
    """Runs an agent for the calls of a tool."""

    agent: Agent[Any]
    record: Path | None
    """The folder of their recordings."""

    def ask(self, prompt: str) -> dict[str, Json]:
        """Run the agent, blocking."""
        bill = spending()
        run = self.agent.run(prompt, record=self._path())
        bill.settle(run.spent)
        return _told(run)

    async def aask(self, prompt: str) -> dict[str, Json]:
        """Run the agent."""
        bill = spending()
        run = await self.agent.arun(prompt, record=self._path())
        bill.settle(run.spent)
        return _told(run)

    def _path(self) -> Path | None:
        """A free name for the recording: the key of the outer call, which its journal has too."""
        if self.record is None:
            return None
        self.record.mkdir(parents=True, exist_ok=True)
        path, number = self.record / current_call().key, 1
        # A call that is repeated after a crash, or in a fork, has the same key: no recording is replaced.
        while _is_taken(path):
            number += 1
            path = self.record / f"{current_call().key}-{number}"
        return path


def _is_taken(path: Path) -> bool:
    cassette = path.with_name(f"{path.name}.yaml")
    journal = companion(cassette)
    part = journal.with_name(f"{journal.name}.part")
    return cassette.exists() or journal.exists() or part.exists()


def _told(run: Run) -> dict[str, Json]:
    """The result of a call."""
    outcome = run.outcome
    match outcome:
        case Completed():
            answer = outcome.content if outcome.value is None else parse(outcome.value)
            return {"answer": answer}
        case Resting():
            raise ToolError(
                "the agent wants to call a tool that needs approval, which nobody can give here",
                "AGENT_RESTS",
            )
        case _:
            raise ToolError(f"the agent did not answer: {outcome.name}", "AGENT_DID_NOT_ANSWER")
