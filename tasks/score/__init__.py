"""Statistics of a board: pure functions on a frame of results; they run nothing."""
