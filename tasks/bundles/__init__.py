"""Runs that travel: bundles, and runs of several machines merged."""
