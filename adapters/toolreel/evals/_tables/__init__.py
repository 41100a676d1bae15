"""Tables of an evaluation: Markdown, JUnit, plain text."""
