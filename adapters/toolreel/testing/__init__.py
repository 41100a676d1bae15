"""Test agents: assertions about runs, scripted endpoints and tools, and the pytest fixture ``reel``."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.testing._assertions import Claims, ExpectedCall, assert_reel, call
    from toolreel.testing._network_block import LOOPBACK, NetworkBlocked, network_blocked
    from toolreel.testing._recordings_check import Checked, RecordingFinding, check
    from toolreel.testing._reel import LiveSide, Reel
    from toolreel.testing._reel_files import cassette_by_name, cassette_of_test, is_recorded
    from toolreel.testing._scripted import (
        Line,
        Lost,
        ScriptedEndpoint,
        ScriptedTools,
        calling,
        saying,
        streaming,
    )
else:
    from toolreel._internal import MissingExtra
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__, instead=MissingExtra.among("pytest"))

# Public; the other names are for this project's own packages and tests.
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
