"""Probing an endpoint: questions, findings, presets."""
