"""Jobs: what they ask, their environments, how they run and their results; and suites of them."""
