"""A probe without a network: the quirky provider is asked in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.servers.quirky_provider import Profile, Said, answer_of, as_sent
from toolreel_core._probe import QUESTIONS, Ask, Probing, Question
from toolreel_core._protocol import ReplyReceived, RequestFailed
from toolreel_core._settings import PATHS

Event = ReplyReceived | RequestFailed


def event_of(said: Said, text: str, number: int = 1) -> Event:
    """The event for a response."""
    if said.status == 200:
        return ReplyReceived(number, 200, text)
    return RequestFailed(number, "status", f"HTTP {said.status}: {text}", said.status, text)


def probed(
    profile: Profile,
    *,
    questions: Sequence[Question] = QUESTIONS,
    repeat: int = 2,
    before: Callable[[Ask], Event | None] | None = None,
) -> Probing:
    """A whole probe of a profile.

    :param before: may answer a request itself
    """
    probing, flips = Probing("scripted", tuple(questions), repeat), dict[str, int]()
    while ask := probing.ask:
        event = before(ask) if before else None
        if event is None:
            said = answer_of(profile, PATHS[ask.form], ask.body, flips)
            event = event_of(said, as_sent(profile, ask.body, said)[0], ask.number)
        probing = probing.with_answer(ask, event)
    return probing
