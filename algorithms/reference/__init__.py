"""Naive baselines of streams, which every model has to beat, and other libraries' systems."""
