"""Online learners: Vowpal Wabbit's default learner as a kernel."""
