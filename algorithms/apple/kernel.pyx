r"""The kernel: how a row is expanded into monomials, and learned by VW's update (line 4).

An expander is made for some rows of a learner, whose arrays it reads and changes. It gathers the
state of the slots that a row emits into neighbouring memory, learns there, and writes it back; the
plan, whose rows emit all slots, does so once for all of its rows.

The update
----------
VW keeps for every feature i a weight w_i, the sum G_i of squared gradients and the largest
magnitude N_i seen. Here the same state is free of scale: :math:`ω_i = w_i N_i` and
:math:`γ_i = G_i / N_i^2` for the value :math:`z_i = x_i / N_i`. Then :math:`w x = ω z`, a new
maximum leaves ω unchanged (VW multiplies w by N_old / N_new), and nothing overflows float32,
where a raw monomial of degree six does.

`leaseboard.algorithms.online.kernel` computes the same update for streams in VW's own order and
units, bit for bit. This one gives up the last bits for sums that are vectorised and powers that
stay finite.

=========  =====================================================================
symbol     meaning
=========  =====================================================================
p, y       prediction (clamped to the range of the labels), label
η          learning rate
ppu        prediction change per unit of update, :math:`Σ z_i^2 / \sqrt{γ_i}`
μ          :math:`\sqrt{Σ_t 1 / Σ_t Σ_i z_{ti}^2}`, the normalisation of the whole step
=========  =====================================================================

References
----------
.. [1] Duchi, Hazan, Singer 2011, Adaptive subgradient methods (the sum G).
.. [2] Ross, Mineiro, Langford 2013, Normalized online learning (N and μ).
.. [3] Karampatziakis, Langford 2011, Online importance weight aware updates (the exponential).
"""

cimport cython
from libc.math cimport fabsf, isfinite, sqrt, sqrtf
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

from leaseboard.algorithms.elementary cimport exp

ctypedef float *Floats
ctypedef uint32_t *Places

ctypedef struct Record:
    float w
    float g
    float inverse
    uint32_t last_row

ctypedef struct Monomial:
    uint64_t key
    uint32_t source
    uint32_t variable
    uint8_t degree

cpdef enum:
    # Places in a learner's `totals`: Σ 1 and Σ z² of μ; the labels' range, which VW starts at
    # [0, 0]; examples; non-zero base features, constants counted.
    STEPS, NORM, LOW, HIGH, EXAMPLES, NONZEROS

cpdef enum:
    CLAIMED, ROWS  # places in a table's `counts`: monomials, rows expanded
    EMPTY = -1  # in place of a slot: the bucket is free
    TAKEN = -2  # another monomial owns it

UNSEEN = np.float32(2.0**-100)
"""N of a feature that was never seen non-zero: not 0, so that no branch guards 1 / N."""

cdef float NEVER = 1 / UNSEEN


cdef class Expander:
    """Rows, room for the features of one, and the state of their learner."""

    cdef object learner
    cdef const double[::1] scale
    cdef const uint64_t[::1] variable_keys
    cdef double *totals
    cdef double rate
    cdef Py_ssize_t n_variables, base  # `base` of a row's features are its variables
    cdef bint whole  # whether each row emits all slots
    cdef Record *records
    # A row's features: slots, values, room for scaled values, state, keys.
    cdef float[:, ::1] memory
    cdef uint64_t[::1] keys
    cdef Places slots
    cdef Floats v, z, w, g, inverse
    # Sparse rows.
    cdef const int64_t[::1] indptr
    cdef const int32_t[::1] indices
    cdef const float[::1] data

    def __init__(self, learner, Py_ssize_t n_features, rows=None):
        """Make room for so many features of a row, and take sparse rows."""
        cdef const Record[::1] records = learner.records
        cdef const double[::1] totals = learner.totals
        self.records, self.totals = <Record *>&records[0], <double *>&totals[0]
        self.learner, self.n_variables, self.rate = learner, len(learner.scale), learner.rate
        self.scale, self.variable_keys = learner.scale, learner.variable_keys
        # No two arrays begin at the same place of a page, and the three of `z` are neighbours.
        self.memory = np.empty((10, n_features // 64 * 64 + 80), dtype=np.float32)
        self.slots, self.v, self.z = <Places>self.room(0), self.room(1), self.room(2)
        self.w, self.g, self.inverse = self.room(5), self.room(6), self.room(7)
        if rows is not None:
            self.keys = np.empty(n_features, dtype=np.uint64)
            self.indptr = rows.indptr.astype(np.int64, copy=False)
            self.indices, self.data = rows.indices.astype(np.int32, copy=False), rows.data

    cdef Floats room(self, Py_ssize_t number) noexcept nogil:
        return &self.memory[number, 0]

    cdef Py_ssize_t emit(self, Py_ssize_t row, bint learning) noexcept nogil:
        """Expand a row into slots and values; return how many features it has."""
        return 0

    cdef void emit_base(self, Py_ssize_t row) noexcept nogil:
        """Emit a row's non-zero base features and then the constant."""
        cdef Py_ssize_t base = 0
        for i in range(self.indptr[row], self.indptr[row + 1]):
            variable = self.indices[i]
            x = <float>(self.data[i] * self.scale[variable])
            if x != 0:
                self.slots[base] = variable
                self.v[base] = x
                self.keys[base] = self.variable_keys[variable]
                base += 1
        self.slots[base] = self.n_variables
        self.v[base] = 1
        self.base = base

    cdef void gather(self, Py_ssize_t size) noexcept nogil:
        """Read the state of the slots that were emitted."""
        w, g, inverse, records, slots = self.w, self.g, self.inverse, self.records, self.slots
        for i in range(size):
            record = &records[slots[i]]
            w[i], g[i], inverse[i] = record.w, record.g, record.inverse

    cdef void scatter(self, Py_ssize_t size) noexcept nogil:
        """Write it back."""
        w, g, inverse, records, slots = self.w, self.g, self.inverse, self.records, self.slots
        for i in range(size):
            record = &records[slots[i]]
            record.w, record.g, record.inverse = w[i], g[i], inverse[i]

    def learn(self, const float[::1] labels, float[::1] out):
        """Predict and learn each row; return the first one that diverged, or -1."""
        cdef Record[::1] writable = self.learner.records  # a read-only array is refused
        cdef double[:, ::1] moments = self.learner.moments
        cdef Py_ssize_t t, i, size = 0, bad = -1
        with nogil:
            for t in range(labels.shape[0]):
                size = self.emit(t, True)
                if not self.whole:
                    self.gather(size)
                p = self.update(size, labels[t])
                if not self.whole:
                    self.scatter(size)
                if not isfinite(p):
                    bad = t
                    break
                out[t] = p
                if not moments.shape[0]:
                    continue
                # Add to the sums of the SSM heuristic.
                residual = (labels[t] - p) * (labels[t] - p)
                for i in range(size):
                    square = <double>self.v[i] * <double>self.v[i]
                    moments[self.slots[i], 0] += residual * square
                    moments[self.slots[i], 1] += square
            if self.whole:
                self.scatter(size)
        return bad

    def predict(self, double low, double high, float[::1] out):
        """Predict each row, clamped to a range."""
        cdef float never = NEVER
        v, z, w, inverse = self.v, self.z, self.w, self.inverse
        # With the interpreter's lock: rows stamp what they emit, in the learner.
        for t in range(out.shape[0]):
            size = self.emit(t, False)
            if not self.whole:
                self.gather(size)
            for i in range(size):
                z[i] = w[i] * (v[i] * inverse[i]) if inverse[i] < never else 0
            out[t] = clamp(add_up(z, size), low, high)

    cdef double update(self, Py_ssize_t size, float y) noexcept nogil:
        """Predict the row that was emitted, then learn it with VW's update.

        Returns the prediction, clamped to the labels seen *before* this one. VW's update (and the
        progressive loss VW prints) clamps to a range that includes the present label; so does
        the update here, but a prediction must not know its label.
        """
        cdef int32_t grown = 0
        cdef float p, growth, square, z2, rate, norm, ppu, step
        w, g, inverse, v, z, totals = self.w, self.g, self.inverse, self.v, self.z, self.totals
        terms, moved = z + size, z + 2 * size
        # Predict, and count the features and those that exceed their largest magnitude.
        for i in range(size):
            z[i] = v[i] * inverse[i]
            terms[i] = w[i] * z[i]
            grown += fabsf(z[i]) > 1
        totals[EXAMPLES] += 1
        totals[NONZEROS] += self.base + 1
        p = add_up(terms, size)
        prediction = clamp(p, totals[LOW], totals[HIGH])
        totals[LOW] = y if y < totals[LOW] else totals[LOW]
        totals[HIGH] = y if y > totals[HIGH] else totals[HIGH]
        p_update = clamp(p, totals[LOW], totals[HIGH])
        if p_update == y:  # VW then takes no note of the example at all, not even in N
            return prediction
        # A new largest magnitude shrinks γ; ω is free of scale.
        if grown:
            for i in range(size):
                growth = fabsf(z[i])
                if growth > 1:
                    g[i] /= growth * growth
                    inverse[i] = <float>1 / fabsf(v[i])
                    z[i] = v[i] * inverse[i]
        # Add the squared derivative of the loss (p - y)², and sum up the norm and the prediction
        # change per unit of update.
        square = <float>(4.0 * (p_update - y) * (p_update - y))
        for i in range(size):
            z2 = z[i] * z[i]
            g[i] += square * z2
            rate = <float>1 / sqrtf(g[i])
            rate = rate if g[i] > 0 else 0
            terms[i] = z2
            moved[i] = z2 * rate
            z[i] *= rate
        norm, ppu = add_up(terms, size), add_up(moved, size)
        # Take the step: the multiplier of z / √γ in the update of ω.
        totals[NORM] += norm
        totals[STEPS] += 1
        mu = sqrt(totals[STEPS] / totals[NORM])
        step = <float>(invariant_step(p_update, y, self.rate, ppu * mu) * mu)
        for i in range(size):
            w[i] += step * z[i]
        return prediction


@cython.final
cdef class PlanExpander(Expander):
    """Expander of dense rows by a plan of products, without hashing.

    Slot j is ``value[source[j]] * x[variable[j]]``; slots are filled in order, so a source is
    always computed before its children.
    """

    cdef const float[:, ::1] rows
    cdef const uint32_t[::1] source, variable

    def __init__(self, learner, rows):
        monomials = learner.monomials
        super().__init__(learner, len(monomials))
        self.source = np.ascontiguousarray(monomials["source"])
        self.variable = np.ascontiguousarray(monomials["variable"])
        self.rows, self.whole = np.ascontiguousarray(rows), True
        for slot in range(len(monomials)):
            self.slots[slot] = slot
        self.gather(len(monomials))

    cdef Py_ssize_t emit(self, Py_ssize_t row, bint learning) noexcept nogil:
        cdef Py_ssize_t base = 0, d = self.n_variables, n = self.source.shape[0]
        x, v, scale = &self.rows[row, 0], self.v, &self.scale[0]
        source, variable = &self.source[0], &self.variable[0]
        # Base features, scaled, and the constant.
        for i in range(d):
            v[i] = <float>(x[i] * scale[i])
            base += v[i] != 0
        v[d] = 1
        # Products: a source comes before its children.
        for j in range(d + 1, n):
            v[j] = v[source[j]] * v[variable[j]]
        self.base = base
        return n


@cython.final
cdef class FullExpander(Expander):
    """Expander of sparse rows into all products up to a degree; buckets are shared."""

    cdef const uint8_t[::1] indicators
    cdef Py_ssize_t degree
    cdef int bits
    cdef int32_t *last

    def __init__(self, learner, rows, Py_ssize_t longest_row):
        super().__init__(learner, longest_row + 1, rows)
        self.indicators = learner.indicators.view(np.uint8)
        self.bits, self.degree, self.last = learner.bits, learner.max_degree, <int32_t *>self.room(8)

    cdef Py_ssize_t emit(self, Py_ssize_t row, bint learning) noexcept nogil:
        """Emit each multiset of features once: a product is extended only to the right."""
        self.emit_base(row)
        cdef Py_ssize_t base = self.base, first_bucket = self.n_variables + 1, first
        # A level holds the products of one degree, from `start` to `stop`.
        cdef Py_ssize_t size = base + 1, start = 0, stop = base, level
        keys, v, last = &self.keys[0], self.v, self.last
        for i in range(base):
            last[i] = i
        for _ in range(1, self.degree):
            level = size
            for place in range(start, stop):
                # Go on with the product's last factor, or behind it where it is its own square.
                first = last[place]
                if self.indicators[self.slots[first]]:
                    first += 1
                for i in range(first, base):
                    keys[size] = keys[place] + keys[i]
                    self.slots[size] = first_bucket + (mix(keys[size]) >> (64 - self.bits))
                    v[size] = v[place] * v[i]
                    last[size] = i
                    size += 1
            start, stop = level, size
        return size


@cython.final
cdef class HashedExpander(Expander):
    """Expander of sparse rows, and the table of 2^bits in which their monomials are found.

    A monomial of degree two or more owns the bucket of its key if it came first; another one that
    hashes to the same bucket is dropped. Dropping beat sharing the weight where the
    table was crowded, and was equal elsewhere. Base features have slots of their own.

    A row emits its base features, then works through those of them that are parents: each emits
    its products with the base features, and products that are parents join the queue.

    A bucket only says which slot its monomial has. Slots are given in the order in which monomials
    come, so that the frequent ones, which come first, lie close together and stay in a near cache.

    The mixed key of a monomial is its bucket, the top `bits`, and a rest. `tags` is one byte of
    each bucket's rest, 0 in an empty bucket: small enough for a near cache, it answers most
    look-ups of a crowded table. `owners` is the rest and, in the low `bits`, the number of the
    monomial, which is exact.
    """

    cdef Monomial[::1] monomials
    cdef uint64_t[::1] owners, mixed
    cdef uint8_t[::1] parent, tags
    cdef int64_t[::1] counts, found
    cdef Record[::1] stamped
    cdef int bits
    # Places of the row's parents among its features, and of those that a parent may be multiplied
    # with: their product may be in the table.
    cdef Places parents, hits

    def __init__(self, learner, rows):
        super().__init__(learner, len(learner.records) + 1, rows)
        self.monomials, self.stamped = learner.monomials, learner.records
        self.owners, self.tags, self.counts = learner.owners, learner.tags, learner.counts
        self.parent, self.bits = learner.parent.view(np.uint8), learner.bits
        self.mixed = np.empty(np.diff(rows.indptr).max(initial=1), dtype=np.uint64)
        self.found = np.empty(len(self.mixed), dtype=np.int64)
        self.parents, self.hits = <Places>self.room(8), <Places>self.room(9)

    cpdef int64_t find(self, uint64_t key) noexcept nogil:
        """Return the slot of a monomial of degree two or more, EMPTY or TAKEN."""
        cdef uint64_t mixed = mix(key)
        cdef uint64_t owner = self.owners[mixed >> (64 - self.bits)]
        if self.tags[mixed >> (64 - self.bits)] == 0:
            return EMPTY
        if owner >> self.bits != mixed << self.bits >> self.bits:
            return TAKEN
        return <int64_t>(owner & ((<uint64_t>1 << self.bits) - 1)) + self.n_variables + 1

    cpdef int64_t claim(self, uint64_t key, int64_t source, int64_t variable) noexcept nogil:
        """Give a new slot to `key`, whose bucket is empty."""
        cdef int64_t number = self.counts[CLAIMED], slot = self.n_variables + 1 + number
        self.counts[CLAIMED] += 1
        cdef uint64_t mixed = mix(key)
        self.tags[mixed >> (64 - self.bits)] = tag_of(mixed)
        self.owners[mixed >> (64 - self.bits)] = mixed << self.bits | <uint64_t>number
        self.records[slot].inverse = NEVER
        monomial = &self.monomials[slot]
        monomial.key, monomial.source, monomial.variable = key, source, variable
        monomial.degree = self.monomials[source].degree + 1
        return slot

    def adopt(self, HashedExpander other, const int64_t[::1] slots, int64_t[::1] here):
        """Fill `here` with the slots of another table's monomials; -1 marks those without one."""
        for slot in slots:
            monomial = &other.monomials[slot]
            source = here[monomial.source]
            here[slot] = self.find(monomial.key)
            if here[slot] == EMPTY and source >= 0:
                here[slot] = self.claim(monomial.key, source, monomial.variable)

    cdef Py_ssize_t emit(self, Py_ssize_t row, bint learning) noexcept nogil:
        """Emit a row; only one that is learned claims empty buckets.

        In a crowded table the answers cannot be predicted, and most say no: no look-up branches,
        or waits for the one before, though each reads far memory.
        """
        self.emit_base(row)
        self.counts[ROWS] += 1
        cdef Py_ssize_t base = self.base, size = self.base + 1, n_parents = 0, done = 0, n_hits
        cdef int bits = self.bits, shift = 64 - self.bits
        cdef int64_t first = self.n_variables + 1, slot
        cdef uint32_t last_row = self.counts[ROWS]
        cdef uint64_t key, owner, numbers = (<uint64_t>1 << bits) - 1
        cdef bint new, same
        keys, mixed, found, owners = &self.keys[0], &self.mixed[0], &self.found[0], &self.owners[0]
        tags, is_parent, records = &self.tags[0], &self.parent[0], self.records
        slots, v, parents, hits = self.slots, self.v, self.parents, self.hits
        # The first parents are base features.
        for i in range(base):
            parents[n_parents] = i
            n_parents += is_parent[slots[i]]
        # Multiply parents, those among their products too, until none is left.
        while done < n_parents:
            place = parents[done]
            done += 1
            # A product's key is the sum of its factors' keys.
            key = self.monomials[slots[place]].key
            for i in range(base):
                mixed[i] = mix(key + keys[i])
            # Keep those whose bucket's tag is the product's own, or empty where it may be claimed.
            n_hits = 0
            for i in range(base):
                tag = tags[mixed[i] >> shift]
                hits[n_hits] = i
                n_hits += (tag == tag_of(mixed[i])) | (learning & (tag == 0))
            # An owner is the rest of its mixed key, and in the low bits the number of its slot.
            for hit in range(n_hits):
                owner = owners[mixed[hits[hit]] >> shift]
                same = owner >> bits == mixed[hits[hit]] << bits >> bits
                found[hit] = <int64_t>(owner & numbers) + first if (owner != 0) & same else -1
            for hit in range(n_hits):
                i, slot = hits[hit], found[hit]
                if slot < 0:
                    slot = self.find(key + keys[i])
                    if slot == EMPTY and learning:
                        slot = self.claim(key + keys[i], slots[place], slots[i])
                if slot < 0:  # it belongs to another monomial
                    continue
                # Write all, and count what the row has not emitted before.
                new = records[slot].last_row != last_row
                records[slot].last_row = last_row
                slots[size] = slot
                v[size] = v[place] * v[i]
                parents[n_parents] = size
                n_parents += new & is_parent[slot]
                size += new
        return size


cdef inline double clamp(double p, double low, double high) noexcept nogil:
    """Return `p` within the range of the labels; a NaN stays one."""
    return low if p < low else (high if p > high else p)


cdef float add_up(const float *terms, Py_ssize_t n) noexcept nogil:
    """Return the sum of n terms in an order that no processor changes: eight sums, then theirs."""
    cdef float sums[8]
    cdef float total
    cdef Py_ssize_t i, j, whole = n - n % 8
    sums[:] = [0, 0, 0, 0, 0, 0, 0, 0]
    for i in range(0, whole, 8):
        for j in range(8):
            sums[j] += terms[i + j]
    total = ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
    for i in range(whole, n):
        total += terms[i]
    return total


cpdef double invariant_step(double p, double y, double eta, double ppu) noexcept nogil:
    """Return the step of the importance-invariant update: it never passes the label.

    :math:`(y - p)(1 - e^{-2 η ppu}) / ppu`, and its limit :math:`2 η (y - p)` for small ppu.
    """
    if eta * ppu < 1e-6:
        return 2.0 * eta * (y - p)
    return (y - p) * (1.0 - exp(-2.0 * eta * ppu)) / ppu


cpdef uint64_t mix(uint64_t key) noexcept nogil:
    """Return the key with its bits spread, one to one: splitmix64's finaliser."""
    cdef uint64_t z = (key ^ (key >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EB
    return z ^ (z >> 31)


cdef uint8_t tag_of(uint64_t mixed) noexcept nogil:
    """Return a byte of a mixed key that is never 0."""
    return (mixed & 0x7F) | 0x80


def variable_keys(Py_ssize_t n_variables):
    """Return one odd pseudo-random key per variable: the splitmix64 sequence, last bit set."""
    cdef uint64_t[::1] keys = np.empty(n_variables, dtype=np.uint64)
    for i in range(n_variables):
        keys[i] = mix(<uint64_t>(i + 1) * <uint64_t>0x9E3779B97F4A7C15) | 1
    return np.asarray(keys)
