"""Messages that are a tool call as a whole, without any marker around it."""
