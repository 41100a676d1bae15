"""Plans of evaluations: which cells are run, how often, and what that costs."""
