"""The run folder: results and event logs that a kill cannot spoil."""
