"""Tables of an evaluation: Markdown, JUnit, plain text."""

__all__: list[str] = []
