"""Streamed replies: server-sent events and deltas, joined into one response body."""
