"""Evaluations that travel: joined from several machines, as one file, or in another format."""
