"""A probe without a network: the quirky provider is asked in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.servers.quirky_provider import Profile, Said, answer_of, as_sent
from toolreel_core._probe import QUESTIONS, Ask, Probing, Question
from toolreel_core._protocol import ReplyReceived, RequestFailed
from toolreel_core._settings import PATHS

Event = ReplyReceived | RequestFailed


def worked(about: str) -> list[Any]:
    """The rows of domain/probe/worked.jsonl that a test is about."""
    text = Path(__file__).with_name("domain").joinpath("probe/worked.jsonl").read_text("utf-8")
    return [each["row"] for each in map(json.loads, text.splitlines()) if each["about"] == about]


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
