from libc.stdint cimport int64_t

from leaseboard.algorithms.online.conformal_steps cimport Conformal
from leaseboard.algorithms.online.kernel cimport Pool
from leaseboard.algorithms.online_automl.safe.expansion cimport Block, FeatureExpansion, Members
from leaseboard.algorithms.online_automl.safe.log_odds cimport LogOdds
from leaseboard.algorithms.online_automl.safe.mixture cimport Mixture


cdef class Passes:
    cdef readonly object models
    cdef Pool slots
    cdef int loss
    cdef readonly bint classes
    cdef public FeatureExpansion expansion
    cdef public Mixture known
    cdef public LogOdds log_odds
    cdef public Members pool
    cdef public Conformal intervals
    # The slots of live models, and the champion's.
    cdef public const int64_t[::1] live
    cdef public Py_ssize_t champion
    # Whose example was looked at last, if nothing has been learned since.
    cdef OneExample looked

    # Let a block go through all but members and intervals.
    cdef int through(self, Block block) except -1
    # Then let members answer, and intervals learn.
    cdef int answer(self, Block block) except -1


cdef class OneExample:
    cdef readonly Passes ensemble
    cdef readonly Block block
    cdef float[::1] label, importance, seen

    # Predict the example, and learn it if it `learns`, without members and intervals.
    cdef int take(self, bint learns, float label=*, float importance=*) except -1
