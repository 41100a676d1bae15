"""Scenario files: scenarios of one's own in TOML, JSON lines and Python."""
