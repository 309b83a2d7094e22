"""The report: one page that opens offline, made from a run's results and event logs alone."""
