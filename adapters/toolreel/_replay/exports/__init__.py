"""Recorded runs in the formats of other tools: OpenAI's messages, Markdown, logs of Inspect."""
