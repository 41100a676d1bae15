"""The page of a run: one HTML file that shows a recorded run turn by turn, or two of them side by side."""
