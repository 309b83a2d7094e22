"""Online AutoML for classes that come as a stream, two or more, each when it comes."""

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leaseboard.algorithms import plain
from leaseboard.algorithms.environments.stream import MOST_CLASSES
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.online_automl.one_vs_rest import OneVsRest
from leaseboard.algorithms.online_automl.race import Race
from leaseboard.algorithms.online_automl.streaming import base
from leaseboard.algorithms.tables.features import Example
from leaseboard.algorithms.tables.values import importances_of, is_missing


class OnlineAutoMLClassifier(base.OnlineModel, base.MiniBatchClassifier):
    """Online AutoML for classes: a classifier that selects its features and learning rates.

    A champion, its challengers and naive baselines learn every example [1]_. A class may come at
    any time. Two are one race; from the third on each new class brings one more race, against the
    rest. If River is installed, this is one of its classifiers.

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
            Live models at most. By default 100. More models find more, and take more time.
        delta : float
            Probability, 0.1 by default, of promoting a challenger that is not better.
        round_length : int
            Examples between two decisions; 64 by default.
        memory : float
            Examples after which a loss counts 1/e in the mixture of models; 1,000 by default.
        max_terms : int, optional
            Features that are not 0 at a time of all live models together. By default 1,500.

    Attributes
    ----------
    classes : list
        In the order in which they came, or were declared.
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

    See Also
    --------
    OnlineAutoMLRegressor : The same for numbers.
    StreamClassifier : The same as an estimator of scikit-learn.

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

    Of more than two classes, `champion` is a dict of one champion a class, rows of `live` have a
    ``class``, and the numbers of configurations in `history` go through all races.

    References
    ----------
    .. [1] Wu, Wang, Langford, Mineiro, Rossi. ChaCha for online AutoML. ICML 2021.
           https://arxiv.org/abs/2106.04815

    Examples
    --------
    >>> model = OnlineAutoMLClassifier(b=4)
    >>> for a in np.random.default_rng(0).integers(-1, 2, 600).tolist():
    ...     model.learn_one({"a": float(a)}, ("down", "none", "up")[a + 1])
    >>> [model.predict_one({"a": a}) for a in (-1.0, 0.0, 1.0)]
    ['down', 'none', 'up']
    >>> round(model.predict_proba_one({"a": 1.0})["up"], 1)
    1.0
    """

    _task = "classification"
    _race: Any

    @property
    def _multiclass(self) -> bool:
        """River's word for "more than two classes"."""
        return True

    def declare(self, first: Hashable, second: Hashable) -> None:
        """Name two classes before the first example, which is then half of each; others may come.

        Parameters
        ----------
        first, second : Hashable
            Of equally likely ones the first is predicted.

        Raises
        ------
        UsageError
            If something was learned.
        """
        if self._race is not None:
            raise UsageError("classes are declared before the first example: make a new model")
        self.classes = self._with([first, second])

    def predict_one(
        self, x: Example, *, id: Hashable | None = None, store_x: bool = True
    ) -> Hashable:
        """Predict the likeliest class of an example; nothing is learned.

        Parameters
        ----------
        x : dict
            ``{feature: value}`` or ``{namespace: {feature: value}}``.
        id : Hashable, optional
            If the label comes later: a number, a text, or a tuple of them, by which `learn_label`
            finds the example. Of more such examples than `max_pending` the oldest is dropped.
        store_x : bool
            Whether a copy of `x` is stored until then, some 1.5 KB with ten features. Without it
            an example takes some 300 bytes, and `learn_label` needs `x` again.

        Returns
        -------
        Hashable
            A class, of several equally likely ones the first; None before the first example.

        Raises
        ------
        UsageError
            If the id waits for its label already, or could not be saved.

        Examples
        --------
        >>> model = OnlineAutoMLClassifier(b=3)
        >>> model.predict_one({"a": 1.0}, id="order 17")
        >>> model.learn_label("order 17", "late")
        >>> model.predict_one({"a": 1.0})
        'late'
        """
        if id is not None:
            return self._predict_pending(id, x, store_x)
        return _likeliest(self.predict_proba_one(x))

    def predict_proba_one(self, x: Example) -> dict[Hashable, float]:
        """Return the probability of each class seen so far.

        Parameters
        ----------
        x : dict
            ``{feature: value}`` or ``{namespace: {feature: value}}``.

        Returns
        -------
        dict of class to float
            They sum to 1; empty before the first example.
        """
        return self._named(self._predict(x))

    def _named(self, probabilities: Any) -> dict[Hashable, float]:
        if not isinstance(probabilities, np.ndarray):  # nothing was learned
            return dict.fromkeys(self.classes, 0.5)
        return dict(zip(self.classes, probabilities.tolist(), strict=True))

    def _taken(self, said: Any) -> Hashable:
        self.waited = shares = self._named(said)
        return _likeliest(shares)

    def _number_of(self, y: Any) -> float:
        return self.classes.index(_class_of(y))

    def forecast_proba_one(self, x: Example) -> dict[Hashable, float]:
        """Do `predict_proba_one` where the last labels are not known; see `forecast_proba_many`.

        Parameters
        ----------
        x : dict

        Returns
        -------
        dict of class to float
        """
        row = self._row(x)
        with self._ahead():
            found = None if self._race is None else self._race.predict(row, later=True)
        return self._named(found)

    def learn_one(self, x: Example, y: Hashable, w: float = 1.0) -> None:
        """Learn one example.

        Parameters
        ----------
        x : dict
        y : Hashable
            Its class, which may be new: a text, a finite number, or a tuple of them. Texts and
            numbers of NumPy are taken as those of Python.
        w : float
            Importance: learned as if seen so many times. With 0 nothing is learned, no class
            either.

        Raises
        ------
        ValueError
            If the label is missing or not finite, or one class of too many.
        TypeError
            If it cannot be a key of a dict.
        UsageError
            If it could not be saved.
        """
        if type(y) in (str, int, bool) and y in self.classes:
            self._learn(x, self.classes.index(y), w)
            return
        classes = self._with([y] if w else [])
        self._learn(x, classes.index(y) if w else 0, w)
        self._name(classes)

    def learn_many(self, X: ArrayLike, y: ArrayLike, w: ArrayLike | None = None) -> None:
        """Learn a block in order, each example as by `learn_one`.

        Parameters
        ----------
        X : array-like of numbers or DataFrame, shape (n_examples, n_features)
        y : array-like, shape (n_examples,)
        w : array-like, shape (n_examples,), optional
            Importances.

        Raises
        ------
        ValueError, TypeError
            See `learn_one`; nothing is learned.
        UsageError
            If an array holds other things than numbers, or a label could not be saved.
        """
        # an array's own list has whole numbers for dates
        listed = hasattr(y, "tolist") and not isinstance(y, np.ndarray)
        labels: list[Any] = y.tolist() if listed else list(y)  # type: ignore[union-attr, arg-type]
        weights = importances_of(w, len(labels))
        classes = self._with([one for one, weight in zip(labels, weights, strict=True) if weight])
        places = {label: place for place, label in enumerate(classes)}
        numbers = [places.get(label, 0) for label in labels]
        self._learn_block(X, np.array(numbers, dtype=np.float32), weights)
        self._name(classes)

    def predict_many(self, X: ArrayLike) -> Any:
        """Predict the class of each row; nothing is learned.

        Parameters
        ----------
        X : array-like of numbers or DataFrame, shape (n_examples, n_features)

        Returns
        -------
        ndarray, shape (n_examples,); of a DataFrame, a Series with its index
        """
        return base.in_kind(X, [self.predict_one(x) for x in base.examples_of(X)])

    def predict_proba_many(self, X: ArrayLike) -> Any:
        """Return the probabilities of the classes seen so far; nothing is learned.

        Parameters
        ----------
        X : array-like of numbers or DataFrame, shape (n_examples, n_features)

        Returns
        -------
        DataFrame, shape (n_examples, n_classes)
        """
        rows = [self.predict_proba_one(x) for x in base.examples_of(X)]
        return base.shares_in_kind(X, rows, self.classes)

    def forecast_proba_many(self, X: Any) -> Any:
        """Do `predict_proba_many` for rows none of whose labels is known before all are predicted.

        What is predicted of a row goes by its columns and the labels that were learned, and by
        none of the last labels, which are not those before it.

        Parameters
        ----------
        X : array-like of numbers or DataFrame, shape (n_examples, n_features)

        Returns
        -------
        DataFrame, shape (n_examples, n_classes)
        """
        rows = [self.forecast_proba_one(x) for x in base.examples_of(X)]
        return base.shares_in_kind(X, rows, self.classes)

    @property
    def champion(self) -> dict[Any, Any] | None:
        """The champion's hyperparameters; of more than two classes by class.

        The first of these has no race, and so no champion: the others imply its probability.
        """
        if self._race is None:
            return None
        champions: dict[Any, Any] = self._race.champions(self.classes)
        if len(champions) > 2:
            return champions
        race: Race = self._race.races[0]
        return race.parameters(race.configurations[race.champion])

    @property
    def live(self) -> list[dict[str, Any]]:
        """See `OnlineModel.live`; of more than two classes with the ``class`` of each model."""
        races: list[Race] = [] if self._race is None else self._race.races
        if len(races) < 2:
            return [row for race in races for row in race.standings()]
        return [
            {"class": label, **row}
            for label, race in zip(self.classes[1:], races, strict=True)
            for row in race.standings()
        ]

    def _first_race(self) -> Race | None:
        return None if self._race is None else self._race.races[0]

    def _new_race(self, schema: Schema) -> Any:
        return OneVsRest(super()._new_race, schema, declared=len(self.classes))

    def state(self) -> dict[str, Any]:
        """See `OnlineModel.state`."""
        return super().state() | {"classes": self.classes}

    def _fill(self, state: dict[str, Any]) -> None:
        super()._fill(state)
        self.classes = state["classes"]

    def _with(self, labels: list[Hashable]) -> list[Hashable]:
        """Return the classes, with those among `labels` that are new."""
        classes = dict.fromkeys(self.classes)
        for label in labels:
            classes[_class_of(label)] = None
        if len(classes) > MOST_CLASSES:
            raise ValueError(
                f"{len(classes)} classes are more than {MOST_CLASSES}, with a race each: take"
                " OnlineAutoMLRegressor for numbers, and no ids for labels"
            )
        return list(classes)

    def _name(self, classes: list[Hashable]) -> None:
        """Remember the names of as many classes as the races know of."""
        known = len(self.classes) if self._race is None else self._race.n_classes
        self.classes = classes[:known]


def _likeliest(shares: Mapping[Hashable, float]) -> Hashable:
    return max(shares, key=shares.__getitem__, default=None)


def _class_of(label: Hashable) -> Hashable:
    """Return the class that a label names, as a value that can be saved."""
    hash(label)
    is_time = isinstance(label, np.datetime64 | np.timedelta64)
    value = label.item() if isinstance(label, np.generic) and not is_time else label
    parts = value if isinstance(value, tuple) else (value,)
    if any(is_missing(x) or (isinstance(x, float) and not math.isfinite(x)) for x in parts):
        raise ValueError(
            f"label {value!r} is not a class: give a text, a finite number, or a tuple of them"
        )
    plain.check(value)
    return value
