"""The public names of ``toolreel.testing``."""

from typing import TYPE_CHECKING

from toolreel.testing._assertions import Claims, assert_reel
from toolreel.testing._expected_calls import ExpectedCall, call
from toolreel.testing._scripted import Lost, ScriptedEndpoint, ScriptedTools, calling, saying, streaming

if TYPE_CHECKING:
    from toolreel.testing._reels.reel import Reel

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


def __getattr__(name: str) -> object:
    """Load ``Reel`` on demand: it reads cassettes, which need extras; scripted runs need none."""
    if name == "Reel":
        from toolreel.testing._reels.reel import Reel

        return Reel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
