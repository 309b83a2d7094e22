"""Learners and where their hyperparameters are drawn from, as data; users' own pipelines."""
