"""Replay, rescore and promote the runs of an evaluation."""
