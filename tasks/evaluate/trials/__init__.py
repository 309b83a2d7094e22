"""Tuning trials: what an arm's space is, how a trial is run, and how it is kept for replay."""
