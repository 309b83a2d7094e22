"""The page of one job: its pictures, configurations and decisions, from its events alone."""
