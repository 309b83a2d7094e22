"""The run folder: sealed results and event logs that a kill cannot spoil."""
