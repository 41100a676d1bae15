"""The files of an evaluation."""

__all__: list[str] = []
