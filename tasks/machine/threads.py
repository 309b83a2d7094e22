"""The variables that keep the libraries of learners to one thread."""

from __future__ import annotations

ONE_THREAD = {
    f"{library}_NUM_THREADS": "1"
    for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM", "NUMBA")
}
"""Jobs run side by side, so each has one thread: for honest CPU times and equal results."""
