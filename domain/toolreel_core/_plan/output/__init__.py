"""The output of a plan: the schema that the final answer has to fit, and how it is asked for."""
