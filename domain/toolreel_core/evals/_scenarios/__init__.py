"""Scenarios: a task, a world, what counts as success, and scripted models that show the checks work."""
