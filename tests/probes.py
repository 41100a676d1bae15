"""A probe without a network: the quirky provider is asked in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.servers.quirky_provider import Profile, Said, answer_of, as_sent
from toolreel.probe import all_questions, probe_catalogue_rules
from toolreel_core._probe import Ask, Finding, Probing, Question, Setting
from toolreel_core._probe import decided_settings as decided_by_rules
from toolreel_core._probe import select_questions as select_from
from toolreel_core._protocol import ReplyReceived, RequestFailed
from toolreel_core._settings import PATHS

Event = ReplyReceived | RequestFailed
QUESTIONS = all_questions()


def select_questions(names: tuple[str, ...] = ()) -> tuple[Question, ...]:
    return select_from(QUESTIONS, names)


def decided_settings(findings: Sequence[Finding]) -> tuple[Setting, ...]:
    return decided_by_rules(findings, probe_catalogue_rules())


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
