"""The machine that Leaseboard runs on: paths, files, clocks, the terminal, the environment."""
