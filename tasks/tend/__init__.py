"""Runs when they are over: carried in bundles, merged, pruned; and the doctor."""
