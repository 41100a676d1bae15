"""A run of a scenario with a scripted model, on nothing but the core."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolreel_core._jsontext import Json, canonical, parse
from toolreel_core._loop import start, step
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    Completed,
    Finish,
    ReplyReceived,
    RunTool,
    SendRequest,
    ToolReturned,
    UserSpoke,
)
from toolreel_core._settings import LoopConfig, Provider
from toolreel_core.evals import (
    Evidence,
    Scenario,
    Script,
    SentExchange,
    Verdict,
    evidence_of,
    judge,
    reply_as_event_stream,
    scripted_reply,
)


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """A run that is over."""

    evidence: Evidence
    verdict: Verdict
    bodies: tuple[Mapping[str, Any], ...]
    """The bodies of its requests."""


def rehearse(
    scenario: Scenario,
    script: Script,
    *,
    seed: str = "1",
    provider: Provider | None = None,
    **config: Json,
) -> Rehearsed:
    """Run a scenario with a script; what is configured gives way to what the scenario changes."""
    case, changes = scenario.begin(seed), scenario.changes.changes()
    plan = Plan.of(
        model="scripted",
        messages=case.messages,
        tools=case.tools,
        config=LoopConfig.of({"tool_use_mode": "enforced", **changes["config"], **config}),
        overrides=changes["request_overrides"],
        provider=provider or Provider(),
    )
    world, bodies, follow_ups = case.world, list[Mapping[str, Any]](), [*case.follow_ups]
    at, earlier, sent = start(plan), list[str](), list[SentExchange]()
    notes = [*at.notes]
    while at.effects:
        effect = at.effects[0]
        if isinstance(effect, SendRequest):
            bodies.append(json.loads(effect.request.body))
            reply = scripted_reply(script, bodies[-1]["messages"])
            body = reply_as_event_stream(reply) if effect.request.streamed else canonical(reply)
            sent.append(SentExchange(effect.request, body))
            at = step(at.state, ReplyReceived(effect.ref, 200, body))
        elif isinstance(effect, RunTool):
            arguments = parse(effect.arguments)
            assert isinstance(arguments, Mapping)
            world, output = world.call(effect.name, arguments)
            at = step(at.state, ToolReturned(effect.ref, output))
        elif follow_ups and isinstance(effect, Finish) and isinstance(effect.outcome, Completed):
            earlier.append(effect.outcome.content)
            at = step(at.state, UserSpoke(follow_ups.pop(0)))
        else:
            break
        notes += at.notes
    evidence = evidence_of(plan, at.state, notes, world, earlier=tuple(earlier), sent=tuple(sent))
    return Rehearsed(evidence, judge(case, evidence, control=scenario.control), tuple(bodies))
