"""What a policy chose, looked at before anything is done with it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from algorithms.errors import BrokenPromiseError, short
from algorithms.user_files import home


def chosen(choice: object, repeats: int, n_arms: int, policy: type) -> NDArray[np.intp]:
    """The arm that `policy` chose in each run.

    Whatever has another form would be broadcast, taken for a mask, or fail far from here.

    Parameters
    ----------
    choice : object
        What `_choose` returned.
    repeats, n_arms : int
        How many runs there are, and K.
    policy : type
        The class that chose, for the message.

    Raises
    ------
    BrokenPromiseError
        If it is none: integers from 0 to K - 1, shape (repeats,).

    Examples
    --------
    >>> chosen([2, 0], 2, 3, dict)
    array([2, 0])
    >>> chosen(np.array([2, 3]), 2, 3, dict)  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    algorithms.errors.BrokenPromiseError: `_choose` of builtins:dict gave 3:
    return integers of shape (2,), an arm of 0..2 for each run
    """
    try:
        arms = np.asarray(choice)
    except ValueError:  # lists of different lengths
        raise _broken(short(repr(choice), 60), repeats, n_arms, policy) from None
    if arms.shape != (repeats,) or arms.dtype.kind not in "iu":
        raise _broken(_described(choice), repeats, n_arms, policy)
    # A third of what `min` and `max` take, before every trial of every simulated run.
    least, most = arms[arms.argmin()], arms[arms.argmax()]
    if least < 0 or most >= n_arms:
        raise _broken(str(least if least < 0 else most), repeats, n_arms, policy)
    return arms


def _described(choice: object) -> str:
    if isinstance(choice, np.ndarray):
        return f"{choice.dtype} of shape {choice.shape}"
    return short(repr(choice), 60)


def _broken(gave: str, repeats: int, n_arms: int, policy: type) -> BrokenPromiseError:
    return BrokenPromiseError(
        f"`_choose` of {home(policy)} gave {gave}: return integers of shape ({repeats},),"
        f" an arm of 0..{n_arms - 1} for each run"
    )
