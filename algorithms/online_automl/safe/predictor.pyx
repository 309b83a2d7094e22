"""The prediction of live models and their simple models, with all that they are weighed by.

An example goes through expansion, models, mixture, members and intervals. Where it is predicted and
then learned, what its prediction computed is not computed again. A block is one example after the
other.
"""

import numpy as np

cimport cython
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check, PyFloat_CheckExact
from libc.stdint cimport int64_t

from leaseboard.algorithms.online.conformal import Intervals
from leaseboard.algorithms.online_automl.safe.mixture import Mixture

from leaseboard.algorithms.online.conformal_steps cimport Conformal
from leaseboard.algorithms.online.kernel cimport Pool, RowCalls
from leaseboard.algorithms.online_automl.members.pool cimport ClassPool, MemberPool, NumberPool
from leaseboard.algorithms.online_automl.safe.expansion cimport (
    FARTHEST, LAST, MEAN_SO_FAR, N_SIMPLE, NARROW, RIDGE, RIDGE_ON_PAST, SEASON,
    FeatureExpansion, Row,
)
from leaseboard.algorithms.online_automl.safe.bayes cimport EXCESS, LogOdds
from leaseboard.algorithms.online_automl.safe.mixture cimport SHARE_OF_BOUND, Mixture
from leaseboard.algorithms.online_automl.safe.scale cimport MEAN, deviation
from leaseboard.algorithms.online_automl.safe.texts cimport TextEffects
from leaseboard.algorithms.tables.row_reader cimport RowReader

from leaseboard.algorithms.online_automl.safe.scale import STABLE_FROM
from leaseboard.algorithms.tables.values import LARGEST, MOST

cdef double _LARGEST = LARGEST, _MOST = MOST

BASELINES = (MEAN_SO_FAR, LAST, SEASON, RIDGE)
"""The simple models that, with the model in slot 0, the prediction stays near the best of; of more
than `NARROW` features the regression on selected ones too."""


cdef class Ensemble:
    """Predictor of the models in `b` slots and the simple models together.

    Parameters
    ----------
    models : KernelModels
    origins : sequence of Origin
        Of the features.
    n_features : int
    b : int
        Slots for models; the initial configuration is in slot 0.
    gamma : float
        See `leaseboard.algorithms.online_automl.safe.mixture`.
    classes : bool
        The labels are -1 and 1, and what is predicted are log odds of the second class.
    levels : sequence of float
        Of the prediction intervals, which classes do not have.
    seed : int
        Of what members draw.

    Attributes
    ----------
    at : int
        Examples learned.
    known : Mixture
    pool : NumberPool or ClassPool or None
        The nonlinear members next to all this, which races of many classes have in common.
    champion : int
        The champion's slot.
    texts : TextEffects
    entities : list of Entities
        They learn every example, too.
    """

    kept = "at", "known", "expansion", "texts", "intervals", "log_odds", "pool"

    cdef readonly Pool models
    cdef readonly object baselines
    cdef readonly bint classes
    cdef readonly Py_ssize_t b
    cdef readonly double gamma
    cdef public Py_ssize_t at, champion
    cdef public FeatureExpansion expansion
    cdef readonly TextEffects texts
    cdef public Mixture known
    cdef public LogOdds log_odds
    cdef public MemberPool pool
    cdef public Conformal intervals
    cdef public list entities
    cdef const int64_t[::1] live
    # Whose example was looked at last, if nothing has been learned since.
    cdef OneExample looked

    def __init__(
        self, models, origins, Py_ssize_t n_features, Py_ssize_t b, *, double gamma, bint classes,
        levels=(), seed=0,
    ):
        self.models, self.entities = models, []
        self.b, self.gamma, self.classes = b, gamma, classes
        self.expansion, self.texts = FeatureExpansion(n_features, classes), TextEffects(origins)
        self.baselines = self._protected(n_features)
        self.known = Mixture(b, b + N_SIMPLE, self.baselines, gamma, b + RIDGE)
        if classes:
            self.log_odds, self.pool = LogOdds(b), ClassPool(n_features, 2, seed)
        else:
            self.intervals, self.pool = Intervals(levels), NumberPool(n_features, gamma, seed)

    def _protected(self, n_features):
        more = (RIDGE_ON_PAST,) if n_features > NARROW else ()
        return np.array([0, *(self.b + k for k in (*BASELINES, *more))])

    def share(self, n_features, shares):
        """Share memory for examples with others, so many in all, before anything is learned."""
        self.expansion = FeatureExpansion(n_features, self.classes, shares)
        self.texts.share(shares)

    def grow(self, origins, n_features):
        """Go on with more features, which were 0 until now."""
        self.texts.grow(origins)
        self.expansion.grow(n_features)
        if self.pool is not None:
            self.pool.grow(n_features, self.pool.n_classes)
        protected = self._protected(n_features)
        if len(protected) > len(self.baselines):
            self.known.join(protected[len(protected) - 1])
        self.baselines = protected

    def follow(self, live):
        """Mix the models in these slots from now on."""
        self.live = live
        self.known.begin(live)

    def begin(self, slot, parent, *, untrained):
        """Weigh the new model in `slot` as if it had the losses of the one in slot `parent`.

        If it is `untrained`, it has no weight on its first example: its prediction is the mean of
        the labels, which the losses of a trained model say nothing about.
        """
        self.known._untrained[slot] = untrained
        self.known._losses[slot] = 0.0 if parent is None else self.known._losses[parent]
        self.known._scores[slot] = 0.0
        if self.log_odds is not None:
            self.log_odds.begin(slot, parent)

    @property
    def achieved(self):
        """Each model's squared loss so far, or for classes its errors."""
        return self.known.scores if self.log_odds is None else self.log_odds.errors

    def forget_look(self):
        """Let nothing that was computed for the last prediction be used to learn its label."""
        self.looked = None

    def notes(self):
        """Return how near the loss ever came to what the theorems allow.

        ``share_of_bound`` is the largest ratio of the loss to what the best baseline's and the
        constant allow, at most 1; for classes of squared loss. Theirs is ``nats_over_best`` too,
        the largest excess of the log loss over that of the best naive baseline, `regret_bound` at
        most. Of squared loss the first example, at which all predict 0, is
        left out. For the rest see `Intervals.notes`.
        """
        found = {"share_of_bound": float(self.known.totals[SHARE_OF_BOUND])}
        if len(self.expansion.memory):
            found["selected_features"] = float((self.expansion.slots >= 0).sum())
        if self.log_odds is not None:
            found["nats_over_best"] = float(self.log_odds.lost[EXCESS])
        if self.intervals is not None:
            found |= self.intervals.notes(deviation(self.expansion._scale))
        return found if self.pool is None else found | self.pool.notes()

    cdef int take(self, Row row) except -1:
        """Predict a row; learn it if it `learns`."""
        cdef double center = self.known._place[0], spread = self.known._place[1], target
        row.live, row.champion = self.live, self.champion
        # With the interpreter's lock to the end: another thread may use the same model.
        self.expansion.expand(row)
        # Models predict, and learn labels in their unit once these differ.
        if spread != 0.0 or not row.learns:
            self.models.look(&row.wide[0], row.looked, &row.outputs[0])
            if row.learns:
                target = min(max((row.shown - center) / spread, -FARTHEST), FARTHEST)
                self.models.take(<float>target, row.importance)
        self.known.mix(row)
        if self.log_odds is not None:
            self.log_odds.take(row)
        if self.pool is not None:
            self.pool.answer(row)
        if row.learns:
            self.count(row)

    cdef int count(self, Row row) except -1:
        """Let what does not predict learn a row, too, and count it."""
        if self.intervals is not None:
            self.intervals.follow(row.label, row.prediction)
        for each in self.entities:
            each.learn(row, self.expansion)
        self.at = at = self.at + 1
        if at >= STABLE_FROM and (self.known._place[1] == 0.0 or not at & (at - 1)):
            self.move()

    cdef int move(self) except -1:
        """Standardise the models' labels again, after 4, 8, 16, ... examples.

        What they have learned is expressed in the new unit, so no prediction changes.
        """
        cdef double spread = deviation(self.expansion._scale), mean = self.expansion._scale[MEAN]
        cdef double center = self.known._place[0], old = self.known._place[1]
        if spread == 0.0:
            return 0
        if old != 0.0:
            self.models.rescale(old / spread, (center - mean) / spread)
        self.known._place[0], self.known._place[1] = mean, spread


cdef class OneExample(RowCalls):
    """Way of one example after another through a race, each written into the same row.

    Parameters
    ----------
    race : SafeRace
        As long as it does not `grow`.
    example : ndarray of float32, shape (n_features,)

    Attributes
    ----------
    row : Row
        Of the example with the effects of its texts.
    """

    cdef readonly Row row
    cdef readonly Ensemble ensemble
    cdef Py_ssize_t round_length
    cdef float[::1] written  # the example with the effects of its texts

    def __init__(self, race, float[::1] example):
        super().__init__(example)
        self.ensemble, self.round_length = race.ensemble, race.round_length
        self.written = np.zeros_like(example) if self.ensemble.texts.n_columns else example
        self.row = Row(self.written, self.ensemble.b)

    cdef double predict_row(self) except? -1:
        self.take(False)
        return self.row.prediction

    cdef bint learn_row(self, double label, double importance) except -1:
        self.row.label, self.row.importance = <float>label, <float>importance
        self.take(True)
        self.said = self.row.prediction
        return self.ensemble.at % self.round_length == 0

    cdef int take(self, bint learns) except -1:
        # Whether all that a look computes of this example is there.
        self.row.learns = learns
        self.row.looked = self.repeats() and learns and self.ensemble.looked is self
        self.ensemble.looked = None if learns else self
        cdef double seen = self.ensemble.at
        if self.ensemble.texts.n_columns:
            self.ensemble.texts.write(self.example, self.written, seen)
        self.ensemble.take(self.row)
        if learns and self.row.importance > 0.0:  # else it teaches nothing
            above = self.row.shown - self.ensemble.expansion._scale[MEAN]
            self.ensemble.texts.learn(above, self.row.importance, seen)


@cython.final
cdef class SingleExample:
    """Way of one example after another, each in the row of a reader.

    Parameters
    ----------
    race : Race
    reader : RowReader
    reads : bool
        Whether the reader knows all of an example.
    decide : callable
        Is called where a decision is due.

    Attributes
    ----------
    one : RowCalls or ClassRow
        See `leaseboard.algorithms.online_automl.race.Race.bind`.
    """

    cdef object decide
    cdef readonly object one
    cdef RowCalls calls  # the same, where it is compiled
    cdef RowReader reader
    cdef bint reads

    def __init__(self, race, RowReader reader, bint reads, decide):
        self.reader, self.reads, self.decide = reader, reads, decide
        self.one = race.bind(reader.example)
        self.calls = self.one if isinstance(self.one, RowCalls) else None

    def predict(self, x):
        """Return the prediction of an example; None if it is odd, and to be read otherwise."""
        if not self.reads or not self.reader.read(x):
            return None
        return self.one.predict() if self.calls is None else self.calls.predict_row()

    def learn(self, x, y, w):
        """Learn a number, and return True; False if anything is odd, and nothing is learned."""
        if not self.reads or not PyFloat_CheckExact(w) or not PyFloat_Check(y):
            return False
        cdef double label = PyFloat_AS_DOUBLE(y), importance = PyFloat_AS_DOUBLE(w)
        if not 1e-30 < importance <= _MOST or not -_LARGEST <= label <= _LARGEST:
            return False
        if not self.reader.read(x):
            return False
        self.reader.learn_gaps()
        if self.calls.learn_row(label, importance):
            self.decide()
        return True
