"""The page of a run, or of two side by side: one HTML file."""
