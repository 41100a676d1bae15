"""What a proxy keeps of conversations: on disk, and of those under way."""
