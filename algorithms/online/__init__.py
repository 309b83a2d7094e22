"""Online learners: Vowpal Wabbit's default learner, as real workspaces and as a numba kernel."""
