"""Statistics of a board, pure functions on a frame of results; and the gate, which asks them."""
