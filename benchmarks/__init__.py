"""Speed and memory, measured by command, from a checkout; the wheel does not hold them.

``python -m benchmarks.NAME --help``, each of them. Figures of CPU time are comparable within one
run only, so each command runs all that it compares.
"""
