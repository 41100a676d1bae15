"""Several endpoints for one run: when it goes on at the next, and what of the history goes there."""
