"""Many independent streams in one call: a model each for shops, sensors or customers."""

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Protocol

from leaseboard.algorithms.environments.holdout import Nodes
from leaseboard.algorithms.errors import LeaseboardError, UsageError, short
from leaseboard.algorithms.locks import half_learned
from leaseboard.algorithms.online_automl.streaming.base import is_half_learned

MOST_NAMED = 3
"""How many streams an error names; its attributes have all."""

MESSAGES = 128
"""Messages to the nodes, at most; of more streams a message has several."""


class BlockLearner(Protocol):
    """A model that learns blocks, such as `OnlineAutoMLRegressor`."""

    def learn_many(self, X: Any, y: Any, /) -> Any:
        """Learn examples in order."""


class StreamsError(LeaseboardError, ValueError):
    """Error of some of many streams that could not be learned; all others were.

    Parameters
    ----------
    failed : dict of key to Exception
        What the model of each such stream raised. Where it is one of ours, it is unchanged.
    predictions : dict of key to ndarray
        What `learn_streams` would have returned of the others.

    Examples
    --------
    >>> from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLRegressor
    >>> models = {"north": OnlineAutoMLRegressor(), "south": OnlineAutoMLRegressor()}
    >>> try:
    ...     learn_streams(models, {"north": ([[1.0]], [2.0]), "south": ([[1.0]], [math.nan])})
    ... except StreamsError as error:
    ...     print([*error.failed], [*error.predictions])
    ['south'] ['north']
    """

    def __init__(self, failed: dict[Any, Exception], predictions: dict[Any, Any]) -> None:
        named = [f"{key!r}: {short(str(why))}" for key, why in failed.items()]
        more = [f"and {len(named) - MOST_NAMED} more, see .failed"] if named[MOST_NAMED:] else []
        super().__init__(
            f"{len(failed)} of {len(failed) + len(predictions)} streams were not learned, fix"
            f" these and give them again: {'; '.join([*named[:MOST_NAMED], *more])}"
        )
        self.failed, self.predictions = failed, predictions

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.failed, self.predictions)


def learn_streams(
    models: Mapping[Any, BlockLearner] | Sequence[BlockLearner],
    blocks: Mapping[Any, tuple[Any, ...]] | Sequence[tuple[Any, ...]],
    *,
    nodes: Nodes | None = None,
) -> dict[Any, Any]:
    """Let each model learn a block of its own stream, on several cores if you say which.

    Models, predictions and errors are those of ``models[key].learn_many(*block)`` one after the
    other, bit for bit, wherever they learn.

    Parameters
    ----------
    models : mapping of key to OnlineAutoMLRegressor or OnlineAutoMLClassifier, or a list of them
        Each block's is ``models[key]``, so a ``defaultdict(OnlineAutoMLRegressor)`` starts one for
        each new key. Models without a block learn nothing.
    blocks : mapping of key to tuple, or a list of them
        What the model's own `learn_many` takes: ``(X, y)`` or ``(X, y, w)``. The keys of a list
        are 0, 1, 2...
    nodes : Executor, optional
        Where they learn side by side, such as a ``concurrent.futures.ProcessPoolExecutor``: models
        go there and come back pickled, and the objects given are then what came back, built when
        they are first asked for anything. Without, they learn here, one after the other. Threads
        gain nothing: what is decided between the kernels holds the interpreter.

    Returns
    -------
    dict of key to ndarray
        Progressive predictions of each regressor; None of a classifier.

    Raises
    ------
    UsageError
        If a key has no model, or one that is half learned, or two have one model, or a block is
        not a tuple of two or three; nothing is learned. Nor is it where processes themselves
        break, which raises their error.
    StreamsError
        If a model raised: it names the stream and says why. All others have learned.

    Notes
    -----
    What another thread teaches a model meanwhile is lost where it learns in a process. One that is
    interrupted by Ctrl-C in its block has learned part of it, and refuses to go on: load a saved
    one. All others are as after their blocks, or as before.

    Examples
    --------
    >>> from collections import defaultdict
    >>> import pandas as pd
    >>> from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLRegressor
    >>> sales = pd.DataFrame(
    ...     {"shop": ["north", "south", "north"], "price": [3.5, 2.0, 3.0], "sold": [120, 80, 130]}
    ... )
    >>> models = defaultdict(OnlineAutoMLRegressor)
    >>> predictions = learn_streams(
    ...     models,
    ...     {shop: (rows[["price"]], rows["sold"]) for shop, rows in sales.groupby("shop")},
    ... )
    >>> [(shop, len(predictions[shop]), models[shop].examples) for shop in models]
    [('north', 2, 2), ('south', 1, 1)]
    """
    if isinstance(models, Mapping) != isinstance(blocks, Mapping) or not hasattr(
        models, "__getitem__"
    ):
        raise UsageError(
            f"models are a {type(models).__name__}, blocks a {type(blocks).__name__}:"
            " give two mappings of the same keys, or two lists"
        )
    given = dict(blocks.items() if isinstance(blocks, Mapping) else enumerate(blocks))
    todo = [(key, _model_of(key, models), _checked(key, block)) for key, block in given.items()]
    _refuse_shared([(key, model) for key, model, _ in todo])
    work = [(model, block) for _, model, block in todo]
    size = max(1, math.ceil(len(work) / MESSAGES))
    parts = [work[start : start + size] for start in range(0, len(work), size)]
    mapped = map if nodes is None else nodes.map
    done = [one for part in list(mapped(_learned, parts)) for one in part]
    failed, predictions = {}, {}
    for (key, model, _), (learned, progressive, error) in zip(todo, done, strict=True):
        predictions[key] = progressive
        if error is not None:
            failed[key] = error
        elif learned is not model:
            _become(model, learned)
    if failed:
        learned_ones = {key: each for key, each in predictions.items() if key not in failed}
        raise StreamsError(failed, learned_ones) from next(iter(failed.values()))
    return predictions


Learned = tuple[BlockLearner | None, Any, Exception | None]
"""The model after its block, its predictions, and what went wrong, if anything did."""


def _learned(part: Sequence[tuple[BlockLearner, tuple[Any, ...]]]) -> list[Learned]:
    """Let each model of a message learn its block; return what came of it."""
    return [_learned_one(model, block) for model, block in part]


def _learned_one(model: BlockLearner, block: tuple[Any, ...]) -> Learned:
    try:
        learn = getattr(model, "predict_then_learn_many", model.learn_many)
        return model, learn(*block), None
    except Exception as error:  # noqa: BLE001 - raised with those of the other streams
        if isinstance(error.__cause__, KeyboardInterrupt):  # it came in compiled code
            raise error.__cause__ from None
        return None, None, error


def _become(model: BlockLearner, learned: Any) -> None:
    """Let a model be what came back, in one step for its other threads; they keep its lock."""
    held = {name: lock for name, lock in vars(model).items() if name == "_lock"}
    with held.get("_lock", nullcontext()):
        model.__dict__ = vars(learned) | held


def _model_of(key: Any, models: Any) -> BlockLearner:
    try:
        model: BlockLearner = models[key]
    except LookupError:
        raise UsageError(
            f"stream {key!r} has no model: put one under its key, or give a"
            " defaultdict(OnlineAutoMLRegressor)"
        ) from None
    if isinstance(model, type) or not hasattr(model, "learn_many"):
        raise UsageError(
            f"stream {key!r} has {model!r:.80}, which learns no blocks: give an"
            " OnlineAutoMLRegressor or OnlineAutoMLClassifier, of a fitted StreamRegressor its"
            " `model_`"
        )
    if is_half_learned(model):
        raise UsageError(f"stream {key!r}: {half_learned()}")
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
        if id(model) in first:
            other = first[id(model)]
            raise UsageError(
                f"streams {other!r} and {key!r} have one model: give each one of its own"
            )
        first[id(model)] = key
