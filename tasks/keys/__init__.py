"""Versions of the code that made a result, for its key."""
