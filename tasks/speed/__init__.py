"""Measuring how long things take, paired: every way on the same examples in the same process."""
