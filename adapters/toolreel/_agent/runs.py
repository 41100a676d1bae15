"""How the runs of an agent are performed: begun, recorded, and continued after a decision."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from toolreel._driver.aio import ago_on, arun
from toolreel._driver.performer import AsyncPorts, Ports
from toolreel._driver.ports import AsyncPerformer, Journal, Observer, Performer, Wanted, secrets_of
from toolreel._driver.run_result import Run
from toolreel._driver.sync import go_on, run
from toolreel._secrets.known_values import known_secrets
from toolreel._secrets.scrubbing import scrubbed
from toolreel._secrets.secret import Secret
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.events import ApprovalGiven, Event

if TYPE_CHECKING:
    from toolreel._agent.agent import Agent
    from toolreel._replay.recorded_files import RecordedFiles, ResumedFiles

    Files: TypeAlias = RecordedFiles | ResumedFiles


@dataclass(frozen=True, slots=True)
class AgentRuns:
    """Performs the runs of an agent, one way; a run that rests goes on in the same way."""

    agent: Agent
    journal: Journal | None = None
    observe: Observer | None = None
    record: Path | None = None
    """The cassette; its journal is next to it."""
    overwrite: bool = False
    sent: Mapping[str, Secret] = field(default_factory=dict)
    """The credentials that were sent, by name: a server may say them back in an error."""

    def run(self, plan: Plan) -> Run:
        """Run a plan."""
        with self._recorded(plan) as files, self.agent.ports(_transport(files)) as ports:
            ended = run(plan, ports, journal=files or self.journal, observe=self.observe)
        return replace(ended, continuation=self._knowing(ports))

    async def arun(self, plan: Plan) -> Run:
        """The async version of :meth:`run`."""
        with self._recorded(plan) as files:
            async with self.agent.aports(_transport(files, is_async=True)) as ports:
                ended = await arun(plan, ports, journal=files or self.journal, observe=self.observe)
        return replace(ended, continuation=self._knowing(ports))

    def go_on(self, run: Run, decision: ApprovalGiven) -> Run:
        """Go on with a decision, and append to the recording if there is one."""
        with self._resumed() as files, self.agent.ports(_transport(files)) as ports:
            journal, decided = files or self.journal, Decided(ports, decision)
            ended = go_on(run.state, decided, journal=journal, observe=self.observe)
        return replace(ended, notes=run.notes + ended.notes, continuation=self)

    async def ago_on(self, run: Run, decision: ApprovalGiven) -> Run:
        """The async version of :meth:`go_on`."""
        with self._resumed() as files:
            async with self.agent.aports(_transport(files, is_async=True)) as ports:
                journal, decided = files or self.journal, AsyncDecided(ports, decision)
                ended = await ago_on(run.state, decided, journal=journal, observe=self.observe)
        return replace(ended, notes=run.notes + ended.notes, continuation=self)

    def shown(self, text: str) -> str:
        """The text without what the agent sends and nobody shall see."""
        return scrubbed(text, {name: value.reveal() for name, value in self.sent.items()})

    def _knowing(self, ports: Ports | AsyncPorts) -> AgentRuns:
        return replace(self, sent={name: Secret(value) for name, value in ports.secrets.items()})

    @contextmanager
    def _recorded(self, plan: Plan) -> Generator[RecordedFiles | None]:
        """The files of a new recording, both written or neither."""
        if self.record is None:
            yield None
            return
        from toolreel._replay.recorded_files import RecordedFiles

        secrets = {**known_secrets(os.environ), **self.agent.secrets}
        files = RecordedFiles(self.record, plan, secrets, "overwrite" if self.overwrite else "new")
        try:
            yield files
        except BaseException:
            files.close(keep=False, ended=False)
            raise
        files.close(keep=True, ended=True)
        _raise_refusal(files)

    @contextmanager
    def _resumed(self) -> Generator[ResumedFiles | None]:
        """The files of a recording that goes on."""
        if self.record is None:
            yield None
            return
        from toolreel._replay.recorded_files import ResumedFiles

        files = ResumedFiles(self.record, {**known_secrets(os.environ), **self.agent.secrets}, durable=False)
        try:
            yield files
        finally:
            files.close()
        _raise_refusal(files)


@dataclass(frozen=True, slots=True)
class Decided:
    """A performer that has the answer to one approval."""

    performer: Performer
    decision: ApprovalGiven

    @property
    def secrets(self) -> dict[str, str]:
        """The credentials that the performer sends."""
        return secrets_of(self.performer)

    def perform(self, effect: Wanted) -> Event | None:
        """The decision, if it is wanted; else what the performer says."""
        return self.decision if effect.ref == self.decision.ref else self.performer.perform(effect)


@dataclass(frozen=True, slots=True)
class AsyncDecided:
    """The async version of :class:`Decided`."""

    performer: AsyncPerformer
    decision: ApprovalGiven

    @property
    def secrets(self) -> dict[str, str]:
        """The credentials that the performer sends."""
        return secrets_of(self.performer)

    async def perform(self, effect: Wanted) -> Event | None:
        """The decision, if it is wanted; else what the performer says."""
        return self.decision if effect.ref == self.decision.ref else await self.performer.perform(effect)


def _transport(files: Files | None, *, is_async: bool = False) -> Any:  # noqa: ANN401 - of httpx, an extra
    tape = files.tape if files is not None else None
    if tape is None:
        return None
    return tape.async_transport() if is_async else tape.transport()


def _raise_refusal(files: Files) -> None:
    if files.refused is not None:
        raise files.refused
