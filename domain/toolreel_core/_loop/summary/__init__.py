"""Summaries of old turns: the request for one, and what its reply leads to."""
