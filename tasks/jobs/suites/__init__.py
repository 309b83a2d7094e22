"""suites, suite groups, schedules and requirements, as people write them; and plans of suites."""
