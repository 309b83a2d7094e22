"""The regression gate: scores and requirements of a run against the accepted ones."""
