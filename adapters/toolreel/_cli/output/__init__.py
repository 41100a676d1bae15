"""Output of commands: tables, progress, errors."""
