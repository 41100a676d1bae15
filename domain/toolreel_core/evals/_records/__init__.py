"""Records of single trials."""

__all__: list[str] = []
