"""Checks of an answer before it becomes final: what is still to be done, and whether what it claims was done.

A check asks the model again, which is a turn like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from toolreel_core._loop.checks.claimed_effects import claimed_effect
from toolreel_core._loop.checks.restatement import next_step, restatement
from toolreel_core._protocol import Memory, NudgeReason, State

_AGAIN: Final = "If all of it is done, give your answer to the user again, in full."


@dataclass(frozen=True, slots=True)
class Check:
    """A question about an answer."""

    why: NudgeReason
    question: str
    memory: Memory
    """The memory after it is asked."""


def check_of(state: State, answer: str) -> Check | None:
    """The check that an answer needs; ``None`` if it is final.

    :param answer: its text; of an answer by a call, the arguments
    """
    config, memory = state.present.config, state.memory
    if config.claim_check and not memory.claims_checked and (claim := claimed_effect(state, answer)):
        asked = replace(memory, claims_checked=True)
        question = (
            f'Your answer says "{claim.words}", but no call of {" or ".join(claim.tools)} has succeeded. '
            "If that is to be done, make the call now. If not, answer again and say what was not done."
        )
        return Check("unsupported_claim", question, asked)
    if memory.final_checks < config.final_check:
        asked = replace(memory, final_checks=memory.final_checks + 1)
        question = f"Check this before it is final.\n{restatement(state)}\n{next_step(state)}\n{_AGAIN}"
        return Check("final_check", question, asked)
    return None
