"""Messages that are calls as a whole, in no format that could be told from other text."""
