"""``Agent``: a model with tools and instructions, which builds the plan and the ports of each run."""
