"""Clocks to choose from, and the time that a run has left."""
