"""Probe an endpoint for its quirks."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.probe._probing import Probed, all_questions, probe, probe_catalogue_rules, replay_probe
    from toolreel_core._probe import Compared, Finding, Setting
else:
    from toolreel._internal import MissingExtra
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__, instead=MissingExtra.among("record"))

# Public; the other names are for this project's own packages and tests.
__all__ = [
    "Compared",
    "Finding",
    "Probed",
    "Setting",
    "probe",
    "replay_probe",
]
