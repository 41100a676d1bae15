"""Scenarios of one's own as data: texts, tools, draws, checks and scripts in one table."""
