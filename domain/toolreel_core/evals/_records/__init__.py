"""Records of single trials."""
