"""Models to predict with: what a run found, fitted, saved without pickles, registered and served.

In `automl`, estimators that search for one.
"""
