"""The command line: what each command does, and how it shows it."""

__all__: list[str] = []
