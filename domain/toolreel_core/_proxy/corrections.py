"""Requests that the proxy adds: where the loop would ask again, it asks before the client sees anything.

The loop itself decides. It runs on the client's request, and each reply or failure is given to it; where it
would send another request, so does the proxy; where it would run a tool or end, the client gets the reply.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from toolreel_core._client_requests import ClientRequest
from toolreel_core._errors import ToolreelError
from toolreel_core._jsontext import JsonText, Tree, as_tree, canonical, parse
from toolreel_core._loop import start, step
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    CallRejected,
    Effect,
    ModelNudged,
    RecoveryTried,
    ReplyReceived,
    RequestFailed,
    SendRequest,
    Step,
    Wait,
    WaitElapsed,
)
from toolreel_core._proxy.upstream_request import Profile

_RECOVERIES = 2
"""The loop asks once after an empty reply, and once after a call in text that it cannot read."""


@dataclass(frozen=True, slots=True)
class Extras:
    """Which requests may be added; each costs what a request costs."""

    retries: int = 0
    """How often a request is repeated after a failure that may pass, such as a 503 or a rate limit."""
    recover_empty: bool = False
    """Ask again if the model has said nothing, or written a call that can't be read: the loop's
    ``fix_empty_final``, and its nudge."""
    correct_arguments: int = 0
    """How often the model is told that the arguments of its calls are not valid, and asked again."""

    @property
    def none(self) -> bool:
        """Whether nothing is ever added."""
        return not (self.retries or self.recover_empty or self.correct_arguments)

    @property
    def settings(self) -> dict[str, Any]:
        """The same in the words of the loop."""
        return {
            "max_tries": 1 + self.retries,
            "fix_empty_final": self.recover_empty,
            "accept_suspected_calls": True,
            # A turn for the client's request, and one for each that may be added.
            "max_turns": 1 + _RECOVERIES * self.recover_empty + self.correct_arguments,
            "repetition_warn": None,
            "repetition_stop": None,
        }


@dataclass(frozen=True, slots=True)
class Again:
    body: JsonText
    wait_ms: int
    reason: str
    """``retry``, ``recover_empty`` or ``correct_arguments``."""


_MESSAGES = ("messages", "input", "system")
_SENT = (*_MESSAGES, "tools", "tool_choice")
_REASONS = (
    (CallRejected, "correct_arguments"),
    (RecoveryTried, "recover_empty"),
    (ModelNudged, "recover_empty"),
)
"""Why the loop asks again, by what it notes; it notes something else if a failure may pass."""


class Corrections:
    def __init__(self, begun: Step, asked: SendRequest, first: Tree, extras: Extras) -> None:
        self._state = begun.state
        self._ref = asked.ref
        self._first = first
        """The body of the first request, which later ones differ from in messages and tools only."""
        self._left = {
            "retry": extras.retries,
            "recover_empty": _RECOVERIES * extras.recover_empty,
            "correct_arguments": extras.correct_arguments,
        }
        """How many requests may be added, by reason."""

    @classmethod
    def of(
        cls, request: ClientRequest, profile: Profile, extras: Extras, body: JsonText
    ) -> Corrections | None:
        """The loop on this request; ``None`` if nothing may be added, or no run can begin with it.

        :param body: of the first request to the upstream
        """
        if extras.none or not request.messages or request.choices > 1:
            return None
        sent = as_tree(parse(body))
        # A plan has the words of chat completions, whatever goes out.
        said = sent if profile.provider.wire_form == "chat_completions" else request.tree
        options = {
            key: value for key, value in said.items() if key not in {"model", "messages", "tools", "stream"}
        }
        try:
            plan = Plan.of(
                model=str(sent.get("model") or "unknown"),
                messages=request.messages,
                options=options,
                tools=request.tools,
                config=type(profile.config).of({**profile.config.changes(), **extras.settings}),
                provider=profile.provider,
            )
        except ToolreelError:
            return None
        begun = start(plan)
        asked = _request_if_only_effect(begun.effects)
        return None if asked is None else cls(begun, asked, sent, extras)

    def after(self, event: ReplyReceived | RequestFailed) -> Again | None:
        done = step(self._state, replace(event, ref=self._ref))
        notes, wait_ms = done.notes, 0
        for effect in done.effects:
            if isinstance(effect, Wait):
                wait_ms = effect.ms
                done = step(done.state, WaitElapsed(effect.ref))
                break
        asked = _request_if_only_effect(done.effects)
        reason = next(
            (why for kind, why in _REASONS if any(isinstance(note, kind) for note in notes)), "retry"
        )
        if asked is None or not self._left[reason]:
            return None
        self._left[reason] -= 1
        self._state, self._ref = done.state, asked.ref
        # Tools leave the body where the loop sends none; all other options stay as the client wrote them.
        now = as_tree(parse(JsonText(asked.request.body)))
        body: Tree = {
            **{key: value for key, value in self._first.items() if key in now or key not in _SENT},
            **{key: now[key] for key in _MESSAGES if key in now},
        }
        return Again(canonical(body), wait_ms, reason)


def _request_if_only_effect(effects: tuple[Effect, ...]) -> SendRequest | None:
    match effects:
        case (SendRequest() as only,):
            return only
        case _:
            return None
