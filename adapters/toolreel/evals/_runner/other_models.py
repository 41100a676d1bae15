"""Ask the models other than the measured one: what a simulated user says next, and what judges say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from toolreel._driver.performer import Ports
from toolreel._driver.ports import Clock, Endpoint
from toolreel._driver.run_result import Resting
from toolreel._driver.sync import run
from toolreel_core._conversation.message import Message
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.effects import RunTool, SendRequest
from toolreel_core._protocol.events import ReplyReceived, RequestFailed, ToolReturned
from toolreel_core._protocol.outcome import Completed, Outcome, TransportFailed
from toolreel_core._settings.loop_config import LoopConfig
from toolreel_core.evals._other_models.judge import ModelJudge, Opinion, Vote, opinion_of, vote_of
from toolreel_core.evals._other_models.simulated_user import SimulatedUser, ends
from toolreel_core.evals._records.record import Role

# Their replies are text, whatever it looks like.
_CONFIG: Final = LoopConfig(tool_use_mode="relaxed", text_dialects=())


@dataclass(frozen=True, slots=True)
class RequestOfRole(SendRequest):
    """A request to another model than the measured one, so that its cost is counted as its own."""

    role: Role = "user"


class OtherModelFailed(Exception):
    """A model other than the measured one has given no answer."""


def next_words(
    user: SimulatedUser, said: Sequence[str], answered: Sequence[str], endpoint: Endpoint, clock: Clock
) -> str | None:
    """What the simulated user says next; ``None`` if it ends the conversation.

    :raises OtherModelFailed: if the model that plays it says nothing
    """
    if len(said) >= user.turns:
        return None
    reply = _reply(user.model, user.messages(said, answered), endpoint, clock, "user")
    return None if ends(reply) else reply


def opinion(judge: ModelJudge, conversation: Sequence[Message], endpoint: Endpoint, clock: Clock) -> Opinion:
    """What a judge says of a conversation."""
    asked = judge.messages(conversation)
    return opinion_of(judge.name, [_vote(judge, asked, endpoint, clock) for _ in range(judge.votes)])


def _vote(judge: ModelJudge, asked: Sequence[Message], endpoint: Endpoint, clock: Clock) -> tuple[Vote, str]:
    try:
        return vote_of(_reply(judge.model, asked, endpoint, clock, "judge"))
    except OtherModelFailed as error:
        return "failed", str(error)


def _reply(model: str, messages: Sequence[Message], endpoint: Endpoint, clock: Clock, role: Role) -> str:
    plan = Plan.of(model=model, messages=messages, config=_CONFIG)
    outcome = run(plan, Ports(_InRole(endpoint, role), _NoTools(), clock=clock)).outcome
    if isinstance(outcome, Completed) and outcome.content.strip():
        return outcome.content
    raise OtherModelFailed(_why(outcome))


def _why(outcome: Outcome | Resting) -> str:
    if isinstance(outcome, Completed):
        return "its reply was blank"
    return outcome.message if isinstance(outcome, TransportFailed) else outcome.name


class _InRole:
    """Sends requests as those of a role."""

    def __init__(self, endpoint: Endpoint, role: Role) -> None:
        self._endpoint = endpoint
        self._role: Role = role

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Pass the request on, with the role."""
        return self._endpoint.send(RequestOfRole(effect.ref, effect.request, effect.purpose, role=self._role))


class _NoTools:
    """No request offers a tool, so none is ever run."""

    def run(self, effect: RunTool) -> ToolReturned:
        """Answer as for a tool that there is not."""
        raise NotImplementedError(f"{effect.name} was called by a model that has no tools")
