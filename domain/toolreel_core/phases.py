"""The phases of a run; a state is in exactly one."""

from toolreel_core._protocol import (
    AwaitingApproval,
    AwaitingReply,
    AwaitingTools,
    Idle,
    Phase,
    Settled,
    Waiting,
)

__all__ = [
    "AwaitingApproval",
    "AwaitingReply",
    "AwaitingTools",
    "Idle",
    "Phase",
    "Settled",
    "Waiting",
]
