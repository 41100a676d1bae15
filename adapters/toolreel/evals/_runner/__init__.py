"""Run the trials of an evaluation."""

__all__: list[str] = []
