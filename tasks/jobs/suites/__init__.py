"""What people write: suites, collections, schedules, promises; and what a suite would do."""
