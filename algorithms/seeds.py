"""Seeds are derived, never drawn: a job's seed is a hash of what the job is."""

import hashlib

import numpy as np


def derive_seed(*parts: str | int) -> int:
    """Return a 31-bit seed from `parts`, the same on every machine and in every process.

    31 bits, because ``numpy.random.RandomState`` and scikit-learn take no more than 32
    and LightGBM's are signed.

    Examples
    --------
    >>> derive_seed(0, "synthetic:fried", "online-automl", 1)
    1933022961
    """
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def generator(*parts: str | int) -> np.random.Generator:
    """Return a generator of its own for each purpose that `parts` name."""
    return np.random.default_rng(derive_seed(*parts))
