"""The context window: shortening what is sent until it fits, and summaries of old turns."""
