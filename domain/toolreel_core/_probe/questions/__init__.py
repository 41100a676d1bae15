"""The questions of a probe, by what they are about."""
