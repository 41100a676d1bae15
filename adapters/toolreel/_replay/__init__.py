"""Replay, resume and fork recorded runs."""
