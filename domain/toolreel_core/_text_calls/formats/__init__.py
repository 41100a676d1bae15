"""One decoder for each format in which models write tool calls as text."""
