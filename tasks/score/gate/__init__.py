"""The regression gate: scores and promises of a run against the accepted ones."""
