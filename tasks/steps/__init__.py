"""The steps of a benchmark: plain functions, the same as Prefect tasks, and `race` of Python."""
