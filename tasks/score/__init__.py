"""Statistics of a leaderboard, pure functions on a frame of results; and the gate, their user."""
