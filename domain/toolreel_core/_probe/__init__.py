"""Probing an endpoint: questions, findings, and the preset that fits."""
