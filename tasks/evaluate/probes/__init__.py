"""Probes: learners trained on samples, each in a process of its own, recorded once."""
