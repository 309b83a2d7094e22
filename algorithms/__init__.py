"""The science: schedulers of machine-learning work, their environments, and their events.

Nothing in this package knows of Prefect or MLflow, opens a network connection, reads a clock
or touches a global random generator. The tree is the table of contents: each paper has a
module or a folder of its name, its baselines are next to it.
"""
