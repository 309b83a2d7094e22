"""The sections of the report of a run: each a function of its material."""
