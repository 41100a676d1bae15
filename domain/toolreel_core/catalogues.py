"""Presets by provider and model, the models of a catalogue, sampling profiles."""

from toolreel_core._plan import Model, Presets, Recommendation, SamplingProfile

__all__ = [
    "Model",
    "Presets",
    "Recommendation",
    "SamplingProfile",
]
