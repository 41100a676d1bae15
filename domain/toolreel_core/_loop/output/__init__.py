"""Final answers that have to fit the plan's output: judged, asked for again, or taken."""
