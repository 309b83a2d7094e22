"""Many independent streams at once: a model each for shops, sensors or customers, in threads."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Protocol

from algorithms.errors import LeaseboardError, UsageError, short

MOST_TOLD = 3
"""How many streams an error tells of; its attributes have all."""


class BlockLearner(Protocol):
    """A model that learns blocks, such as `ChaChaRegressor`."""

    def learn_many(self, X: Any, y: Any, /) -> Any:
        """Learn examples in order."""


class StreamsError(LeaseboardError, ValueError):
    """Some of many streams could not be learned; all others were.

    Attributes
    ----------
    failed : dict of key to Exception
        What the model of each such stream raised. Where it is one of ours, it is as it was.
    forecasts : dict of key to ndarray
        What `learn_many` would have returned of the others.
    """

    def __init__(self, failed: dict[Any, Exception], forecasts: dict[Any, Any]) -> None:
        told = [f"{key!r}: {short(str(why))}" for key, why in failed.items()]
        more = [f"and {len(told) - MOST_TOLD} more, see .failed"] if told[MOST_TOLD:] else []
        super().__init__(
            f"{len(failed)} of {len(failed) + len(forecasts)} streams were not learned, mend"
            f" these and give them again: {'; '.join([*told[:MOST_TOLD], *more])}"
        )
        self.failed, self.forecasts = failed, forecasts


def learn_many(
    models: Mapping[Any, BlockLearner] | Sequence[BlockLearner],
    blocks: Mapping[Any, tuple[Any, ...]] | Sequence[tuple[Any, ...]],
    *,
    workers: int | None = None,
) -> dict[Any, Any]:
    """Let each model learn a block of its own stream, several of them at a time.

    Models, forecasts and errors are those of ``models[key].learn_many(*block)`` one after the
    other, bit for bit, whatever the number of workers.

    Parameters
    ----------
    models : mapping of key to ChaChaRegressor or ChaChaClassifier, or a list of them
        Each block's is ``models[key]``, so a ``defaultdict(ChaChaRegressor)`` starts one for each
        new key. Models without a block learn nothing.
    blocks : mapping of key to tuple, or a list of them
        What the model's own `learn_many` takes: ``(X, y)`` or ``(X, y, w)``. The keys of a list
        are 0, 1, 2...
    workers : int, optional
        Threads that learn side by side; as many as there are cores if not named. What they gain
        says ``python -m benchmarks.many_streams``.

    Returns
    -------
    dict of key to ndarray
        Progressive forecasts of each regressor; None of a classifier.

    Raises
    ------
    UsageError
        If a key has no model, or two have one model, a block is no tuple of two or three, or
        there is no worker; nothing is learned.
    StreamsError
        If a model raised: it names the stream and tells why. All others have learned.

    Examples
    --------
    >>> from collections import defaultdict
    >>> import pandas as pd
    >>> from algorithms.chacha.streaming import ChaChaRegressor
    >>> sales = pd.DataFrame(
    ...     {"shop": ["north", "south", "north"], "price": [3.5, 2.0, 3.0], "sold": [120, 80, 130]}
    ... )
    >>> models = defaultdict(ChaChaRegressor)
    >>> forecasts = learn_many(
    ...     models,
    ...     {shop: (rows[["price"]], rows["sold"]) for shop, rows in sales.groupby("shop")},
    ... )
    >>> [(shop, len(forecasts[shop]), models[shop].examples) for shop in models]
    [('north', 2, 2), ('south', 1, 1)]
    """
    given = dict(blocks.items() if isinstance(blocks, Mapping) else enumerate(blocks))
    todo = [(key, _model_of(key, models), _checked(key, block)) for key, block in given.items()]
    _refuse_shared([(key, model) for key, model, _ in todo])
    if workers is not None and workers < 1:
        raise UsageError(f"workers={workers} must be at least 1: leave it out for all cores")
    waiting: SimpleQueue[tuple[Hashable, BlockLearner, tuple[Any, ...]]] = SimpleQueue()
    for each in todo:
        waiting.put(each)
    learned: dict[Any, Any] = {}
    raised: dict[Any, Exception] = {}

    def work() -> None:
        while True:
            try:
                key, model, block = waiting.get_nowait()
            except Empty:
                return
            try:
                learned[key] = model.learn_many(*block)
            except Exception as error:  # noqa: BLE001 - raised below, with those of others
                raised[key] = error

    # Kernels let go of the interpreter, so others decide meanwhile what is to be learned next.
    n_workers = min(workers or os.cpu_count() or 1, len(todo))
    threads = [Thread(target=work, name=f"stream-{n}") for n in range(1, n_workers)]
    try:
        for thread in threads:
            thread.start()
        work()
    finally:
        while not waiting.empty():  # interrupted: nobody begins another
            waiting.get()
        for thread in threads:
            thread.join()
    forecasts = {key: learned[key] for key in given if key in learned}
    if raised:
        failed = {key: raised[key] for key in given if key in raised}
        raise StreamsError(failed, forecasts) from next(iter(failed.values()))
    return forecasts


def _model_of(key: Any, models: Any) -> BlockLearner:
    try:
        model: BlockLearner = models[key]
    except LookupError:
        raise UsageError(
            f"stream {key!r} has no model: put one under its key, or give a"
            " defaultdict(ChaChaRegressor)"
        ) from None
    if not hasattr(model, "learn_many"):
        raise UsageError(
            f"stream {key!r} has a {type(model).__name__}, which has no learn_many: give a"
            " ChaChaRegressor or ChaChaClassifier"
        )
    return model


def _checked(key: Any, block: Any) -> tuple[Any, ...]:
    if not isinstance(block, tuple) or len(block) not in (2, 3):
        raise UsageError(
            f"the block of stream {key!r} is a {type(block).__name__}: give a tuple, (X, y) or"
            " (X, y, w)"
        )
    return block


def _refuse_shared(models: Sequence[tuple[Any, BlockLearner]]) -> None:
    first: dict[int, Any] = {}
    for key, model in models:
        other = first.setdefault(id(model), key)
        if other != key:
            raise UsageError(
                f"streams {other!r} and {key!r} have one model: give each one of its own"
            )
