"""What functions and runs of ``toolreel`` return, besides the names there."""

from toolreel._driver import EffectTime, Resting, RunUsage, Timing
from toolreel._replay import Forked, Replayed
from toolreel.tools import CurrentCall, Output

__all__ = [
    "CurrentCall",
    "EffectTime",
    "Forked",
    "Output",
    "Replayed",
    "Resting",
    "RunUsage",
    "Timing",
]
