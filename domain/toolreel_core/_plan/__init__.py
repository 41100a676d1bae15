"""What is fixed before a run starts, and the request bodies that follow from it."""
