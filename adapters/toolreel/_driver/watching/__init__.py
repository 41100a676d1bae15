"""Watchers: what logs and traces see of every run in this process, whatever drives it."""
