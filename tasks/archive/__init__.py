"""Runs when they are over: carried in archives, merged, pruned; and the doctor."""
