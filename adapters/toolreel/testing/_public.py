"""The public names of ``toolreel.testing``."""

from toolreel.testing._assertions import Claims, assert_reel
from toolreel.testing._calls import ExpectedCall, call
from toolreel.testing._reel import Reel
from toolreel.testing._scripted import Lost, ScriptedEndpoint, ScriptedTools, calling, saying, streaming

__all__ = [
    "Claims",
    "ExpectedCall",
    "Lost",
    "Reel",
    "ScriptedEndpoint",
    "ScriptedTools",
    "assert_reel",
    "call",
    "calling",
    "saying",
    "streaming",
]
