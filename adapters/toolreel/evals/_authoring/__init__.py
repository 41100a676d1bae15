"""Write scenario files: a template, a recording as a scenario, and the proof of an oracle."""
