"""The machine that we run on: paths, files, clocks, the terminal, the environment."""
