"""The public names of ``toolreel.probe``."""

from toolreel.probe._probed import Probed
from toolreel.probe._probing import probe, replay_probe
from toolreel_core._probe.comparison import Compared
from toolreel_core._probe.finding import Finding
from toolreel_core._probe.fitting import Setting

__all__ = ["Compared", "Finding", "Probed", "Setting", "probe", "replay_probe"]
