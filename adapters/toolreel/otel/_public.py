"""The public names of ``toolreel.otel``."""

from toolreel.otel._instrument import instrument, uninstrument
from toolreel.otel._labels import labelled

__all__ = ["instrument", "labelled", "uninstrument"]
