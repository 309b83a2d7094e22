"""Configurations to choose from: learners, domains of their hyperparameters, own pipelines."""
