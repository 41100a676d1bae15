"""Replay, rescore and promote the runs of an evaluation."""

__all__: list[str] = []
