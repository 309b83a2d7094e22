"""Drift detection: unusual days, and series that have changed for good."""
