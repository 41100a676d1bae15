"""Tools as the model sees them: definitions, names, limits, and results."""
