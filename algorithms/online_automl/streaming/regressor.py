"""Online AutoML for numbers that come as a stream."""

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.conformal import Intervals
from leaseboard.algorithms.online_automl.late import LateNumbers
from leaseboard.algorithms.online_automl.safe.later import NOTHING, Parts, Waiting, parts_of
from leaseboard.algorithms.online_automl.safe.safe_race import SafeRace
from leaseboard.algorithms.online_automl.streaming import base
from leaseboard.algorithms.tables.features import Example
from leaseboard.algorithms.tables.values import labels_of, regression_label


class OnlineAutoMLRegressor(base.OnlineModel, base.MiniBatchRegressor):
    """Online AutoML for numbers: a regressor that selects its features and learning rates.

    A champion, its challengers and naive baselines learn every example; the prediction is an
    average that is nearly as good as the best of them [1]_. If River is installed, this is one of
    its regressors.

    Parameters
    ----------
    seed : int
        Same seed, same examples: same predictions.
    algorithm : str
        The registered name of a race: ``"online-automl"``; ``"chacha-literal"``,
        ``"chacha-flaml"`` and ``"chacha"``, which repeat published code and text; others are in
        ``leaseboard list algorithms``.
    max_pending : int
        How many examples may wait for their labels, see `predict_one`.
    **settings
        Of the algorithm; a wrong one is a UsageError that names what there is. Those of
        ``"online-automl"``:

        b : int, optional
            Live models at most. By default 50. More models find more, and take more time.
        delta : float
            Probability, 0.1 by default, of promoting a challenger that is not better.
        round_length : int
            Examples between two decisions; 64 by default.
        memory : float
            Examples after which a loss counts 1/e in the mixture of models; 1,000 by default.
        max_terms : int, optional
            Features that are not 0 at a time of all live models together. By default 600.
        entity : str
            The column whose values are entities, such as shops, products or people; numbers in it
            are names. Predictions with an id, and `forecast_many`, go by the labels of the same
            entity too. An example must have it, None where it is not known.
        levels : tuple of float
            Of the prediction intervals; by default (0.5, 0.8, 0.9, 0.95, 0.99).

    Attributes
    ----------
    about : dict
        Plain values of your own, such as where the examples come from: saved with the model.
    examples : int
        Number of examples that have been learned.
    champion : dict or None
        The champion's hyperparameters; None before the first example.
    live : list of dict
        The live models: hyperparameters, examples learned, lease, loss.
    members : list of dict
        What predicts together: the ``live models`` with their naive baselines, ``trees``,
        ``Fourier features``, ``neighbours``, ``boosted trees`` if LightGBM was installed when the
        model began, and the ``stack`` of them; of each its ``weight`` in the prediction,
        ``has_lease``, and microseconds an example, by a count of operations (``us``).
    history : list of Event
        Decisions so far: what was admitted, leased, paused, promoted.
    n_pending, n_dropped : int
        Examples that wait for their labels, and that were dropped because too many did.
    levels : tuple of float
        Levels of the intervals; none by an algorithm without intervals.

    See Also
    --------
    OnlineAutoMLClassifier : The same for classes.
    StreamRegressor : The same as an estimator of scikit-learn.

    Notes
    -----
    The model predicts an example before it learns it, or not at all; it needs no scaling, no
    encoding and no tuning. A value is a number, a boolean, a text, a date, or None or NaN for a
    missing one. A feature that is not named counts 0, and a new one may come at any time.

    What is wrong is refused before anything is changed, so a failed call leaves the model
    unchanged: TypeError for an example that is not a mapping, or a value or label of another type;
    ValueError for an infinite value, a label or importance that is NaN or infinite, or two
    features of one name.

    A model is for one thread at a time. If Ctrl-C ends a call that learns, load
    what `save` wrote before.

    Predictions whose labels come later are weighed by how predictions that waited did, so
    ``predict_one(x, id=id)`` may differ from ``predict_one(x)``. What the model learns from labels
    does not depend on that.

    References
    ----------
    .. [1] Wu, Wang, Langford, Mineiro, Rossi. ChaCha for online AutoML. ICML 2021.
           https://arxiv.org/abs/2106.04815

    Examples
    --------
    >>> model = OnlineAutoMLRegressor(algorithm="chacha", b=3)
    >>> for t in range(300):
    ...     x = {"a": t % 3 - 1.0, "b": t % 5 - 2.0}
    ...     prediction = model.predict_one(x)
    ...     model.learn_one(x, x["a"] + x["a"] * x["b"])
    >>> model.examples, len(model.live)
    (300, 2)
    """

    _task = "regression"

    def predict_one(
        self, x: Example, *, id: Hashable | None = None, store_x: bool = True
    ) -> float:
        """Predict the label of one example; nothing is learned.

        Parameters
        ----------
        x : dict
            ``{feature: value}`` or ``{namespace: {feature: value}}``.
        id : Hashable, optional
            If the label comes later: a number, a text, or a tuple of them, by which `learn_label`
            finds the example. Of more such examples than `max_pending` the oldest is dropped.
        store_x : bool
            Whether a copy of `x` is stored until then, some 1.1 KB with ten features. Without it
            an example takes some 800 bytes, and `learn_label` needs `x` again.

        Returns
        -------
        float
            0 before the first example. With an `id` it is weighed, by default, by how predictions
            that waited did.

        Raises
        ------
        UsageError
            If the id waits for its label already, or could not be saved.

        Examples
        --------
        >>> model = OnlineAutoMLRegressor(b=3)
        >>> for t in range(100):
        ...     prediction = model.predict_one({"a": t % 3 - 1.0}, id=t)
        ...     if t >= 10:
        ...         model.learn_label(t - 10, (t - 10) % 3)
        >>> model.examples, model.n_pending
        (90, 10)
        """
        if id is not None:
            return self._predict_pending(id, x, store_x)
        return self._predict(x)

    def learn_one(self, x: Example, y: float, w: float = 1.0) -> None:
        """Learn one example; no prediction need have been asked for.

        Parameters
        ----------
        x : dict
        y : float
        w : float
            Importance: learned as if seen so many times.
        """
        if self._single is None or not self._single.learn(x, y, w):
            self._learn(x, regression_label(y), w)

    def learn_many(self, X: ArrayLike, y: ArrayLike, w: ArrayLike | None = None) -> None:
        """Learn a block in order, each example as by `learn_one`.

        Parameters
        ----------
        X : array-like of numbers or DataFrame, shape (n_examples, n_features)
        y : array-like, shape (n_examples,)
        w : array-like, shape (n_examples,), optional
            Importances.
        """
        self._learn_block(X, y, w)

    def predict_then_learn_many(
        self, X: ArrayLike, y: ArrayLike, w: ArrayLike | None = None
    ) -> NDArray[np.float32]:
        """Predict each example of a block before its label is learned, as `learn_many` learns it.

        Parameters
        ----------
        X, y, w
            As for `learn_many`.

        Returns
        -------
        ndarray of float32, shape (n_examples,)
            Progressive predictions: of each example before its label was learned.
        """
        return self._learn_block(X, y, w)

    def predict_many(self, X: ArrayLike) -> Any:
        """Predict the labels of a block of examples, none of which is learned.

        Parameters
        ----------
        X : array-like of numbers or DataFrame, shape (n_examples, n_features)
            A column that a DataFrame does not have counts 0.

        Returns
        -------
        ndarray of float32, shape (n_examples,); of a DataFrame, a Series with its index

        Raises
        ------
        UsageError
            If an array holds other things than numbers, or has too few columns.
        """
        examples = base.examples_of(X)
        if examples and not base.is_frame(X):  # whose columns are known by their places alone
            named = self._features.values(dict.fromkeys(examples[0], 0.0))
            absent = self._features.absent(named)
            if absent:
                raise UsageError(
                    f"columns {', '.join(repr(name) for _, name in absent)} were learned and are"
                    " not in the block: add them, or name those that are there by a DataFrame's"
                    " columns, where an absent feature counts 0"
                )
        return base.in_kind(X, np.array([self._predict(x) for x in examples], dtype=np.float32))

    # Forecasts of a block of rows, none of whose labels is known before all are predicted

    def forecast_many(self, X: Any, level: float | None = None) -> Any:
        """Predict a block of rows, none of whose labels is known before all are predicted.

        What is predicted of a row goes by its columns, by its time, where a column has dates, or
        else by its place, and by the labels that were learned
        (`leaseboard.algorithms.online_automl.safe.later`).

        Parameters
        ----------
        X : array-like of numbers or DataFrame, shape (n_examples, n_features)
        level : float, optional
            Also return an interval that contains this share of the labels, if they follow on what
            was learned as what `measure_forecast` was given followed on what came before.

        Returns
        -------
        ndarray of float64, shape (n_examples,), or (n_examples, 3) with a `level`
            The prediction, and the ends of its interval.
        """
        found = np.array([*self.forecasts(base.examples_of(X), level)]).reshape(-1, 3)
        return found[:, 0] if level is None else found

    def forecasts(
        self, examples: Iterable[Example], level: float | None = None
    ) -> Iterator[tuple[float, float, float]]:
        """Yield what `forecast_many` returns of each of these, with its ends.

        Parameters
        ----------
        examples : iterable of dict
        level : float, optional
            Without it the ends are the prediction.

        Returns
        -------
        iterator of (float, float, float)
        """
        if level is not None and not 0.0 < level < 1.0:
            raise UsageError(f"level={level} must be between 0 and 1, such as 0.9")
        column = self._race.head.column if isinstance(self._race, SafeRace) else ""
        halves = np.zeros(1) if level is None else self._late_numbers().ahead.halves(level, column)
        for parts, prediction in self._forecast(examples):
            half = float(halves[parts.entity if parts.entity < len(halves) else 0])
            yield prediction, prediction - half, prediction + half

    def measure_forecast(
        self, X: Any, y: ArrayLike, *, intervals: bool = True
    ) -> NDArray[np.float64]:
        """Return what `forecast_many` does, and learn how far it was from the labels.

        The examples are not learned: do that afterwards.

        Parameters
        ----------
        X, y
            As for `learn_many`; they follow on what was learned.
        intervals : bool
            Whether intervals are made of these errors; the first ones, by which the parts of a
            forecast are weighed, are larger than later ones.

        Returns
        -------
        ndarray of float64, shape (n_examples,)
        """
        found, labels = list(self._forecast(base.examples_of(X))), labels_of(y)
        if isinstance(self._race, SafeRace):
            ahead = self._late_numbers().ahead
            for (parts, prediction), label in zip(found, labels.tolist(), strict=True):
                ahead.learn(parts.said, label)
                if intervals:
                    ahead.measure(prediction, label, parts.entity, self._race.head.column)
        return np.array([prediction for _, prediction in found])

    def _forecast(self, examples: Iterable[Example]) -> Iterator[tuple[Parts, float]]:
        before = Waiting()
        for x in examples:
            if not isinstance(self._race, SafeRace):
                yield NOTHING, float(self._predict(x))
                continue
            row = self._row(x)
            ages = before.add(self._race.head.entity(row))
            weighed = self._late_numbers().ahead
            with self._ahead():
                known = bool(weighed.mass.any())
                parts = parts_of(self._race, row, *ages, in_order=False, ahead=known)
            yield parts, weighed.mean(parts.said, parts.lost)

    # Intervals

    @property
    def levels(self) -> tuple[float, ...]:
        """Levels of the intervals that are kept; none by an algorithm without intervals."""
        return self._late.intervals.levels if isinstance(self._late, LateNumbers) else ()

    def predict_interval_one(self, x: Example, level: float = 0.9) -> tuple[float, float]:
        """Return the interval that holds the label of one example with probability `level`.

        In the long run the interval holds this share of any labels; see
        `leaseboard.algorithms.online.conformal`. Nothing is learned.

        Parameters
        ----------
        x : dict
        level : float
            One of the setting `levels`: .5, .8, .9, .95 and .99 unless it is given.

        Returns
        -------
        low, high : float
            Around `predict_one`; -inf and inf while there is too little evidence, at 90 % for nine
            examples, and where too many labels were missed.

        Raises
        ------
        UsageError
            If the level is not kept, or the algorithm has no intervals.

        Examples
        --------
        >>> model = OnlineAutoMLRegressor(b=3)
        >>> model.predict_interval_one({"a": 1.0})
        (-inf, inf)
        >>> for a, noise in np.random.default_rng(0).uniform(-1, 1, (600, 2)).tolist():
        ...     model.learn_one({"a": a}, a + 1 + 0.5 * noise)
        >>> low, high = model.predict_interval_one({"a": 1.0}, level=0.8)
        >>> 1.4 < low < 2 < high < 2.6
        True
        """
        race, intervals = self._race, Intervals(self._late_numbers().intervals.levels)
        if isinstance(race, SafeRace) and race.ensemble.intervals is not None:
            intervals = race.ensemble.intervals
        return intervals.around(self._predict(x), level)

    def _late_numbers(self) -> LateNumbers:
        if isinstance(self._late, LateNumbers):
            return self._late
        raise UsageError(f"{self.algorithm!r} keeps no prediction intervals: take 'online-automl'")

    # Labels that come later

    def pending_interval(self, id: Hashable, level: float = 0.9) -> tuple[float, float]:
        """Return the interval around a prediction that waits for its label.

        Parameters
        ----------
        id : Hashable
            That of ``predict_one(x, id=id)``.
        level : float
            One of `levels`.

        Returns
        -------
        tuple of float
            The lower and the upper end.

        Notes
        -----
        It is made of the errors of predictions that waited, so it is as wide as the delay of
        labels makes it, which `predict_interval_one` does not know of. At 90 % nine labels must
        have been answered before the prediction.

        Raises
        ------
        UsageError
            If the id does not wait, the level is not kept, or the algorithm has no intervals.
        """
        _, prediction, _, parts = self._pending.get(id)
        return self._late_numbers().around(prediction, level, parts)
