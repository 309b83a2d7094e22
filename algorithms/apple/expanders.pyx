"""Kernels of the learners: each expands a row into monomials, all learn them in one way.

An expander is made for some rows of a learner, whose arrays it reads and changes. The plan keeps
values, weights and gradient sums next to each other. The two for sparse rows gather the state of
the slots that a row emits into neighbouring memory, learn there, and write it back.
"""

cimport cython
from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

from leaseboard.algorithms.apple.update cimport (
    DROPPED,
    EXAMPLES,
    HIGH,
    LOW,
    NONZEROS,
    add_up,
    clamp,
    learn_adaptive,
)

from leaseboard.algorithms.apple.update import UNSEEN

ctypedef float *Floats
ctypedef uint32_t *Places
ctypedef uint64_t *Keys

ctypedef struct Record:
    float w
    float g
    float inverse
    uint32_t last_row

cpdef enum:
    CLAIMED, COLLISIONS, ROWS  # places in `counts`: monomials, collisions dropped, rows expanded
    EMPTY = -1  # in place of a slot: the bucket is free
    TAKEN = -2  # another monomial owns it
    BATCH = 1024  # so many hits are looked up together, and those of one parent more

cdef float NEVER = 1 / UNSEEN


cdef class Expander:
    """Rows, room for the features of one, and the state of their learner."""

    cdef object learner
    cdef char *memory
    cdef char *rest
    cdef const double[::1] scale
    cdef const uint64_t[::1] variable_keys
    cdef double rate
    cdef Py_ssize_t n_variables, base
    # ω, γ and 1 / N of each slot, where they are not the row's own in `w`, `g` and `inverse`
    cdef Record *records
    # a row's features: slots, values, scaled values, state, keys
    cdef Places slots
    cdef Floats v, z, w, g, inverse
    cdef Keys keys
    # sparse rows
    cdef const int64_t[::1] indptr
    cdef const int32_t[::1] indices
    cdef const float[::1] data

    def __init__(self, learner):
        self.learner, self.n_variables = learner, learner.n_variables
        self.scale, self.variable_keys = learner.scale, learner.variable_keys
        self.rate = learner.learning.learning_rate

    def __dealloc__(self):
        free(self.memory)

    cdef reserve(self, Py_ssize_t size):
        """Reserve memory for up to 16 rooms of so many bytes together."""
        self.memory = self.rest = <char *>malloc(size + 16 * 256)
        if not self.memory:
            raise MemoryError

    cdef void *room(self, Py_ssize_t size) noexcept:
        """Return room for so many bytes; no two begin at the same place of a page."""
        room = self.rest
        self.rest += size + 256 - size % 64
        return room

    cdef read_sparse(self, rows, Py_ssize_t n_features, Py_ssize_t more):
        """Take sparse rows; make room for the features of one and the slot after them, and more."""
        cdef const Record[::1] records = self.learner.records
        self.records = <Record *>&records[0]
        self.indptr = rows.indptr.astype(np.int64, copy=False)
        self.indices, self.data = rows.indices.astype(np.int32, copy=False), rows.data
        cdef Py_ssize_t n = n_features + 1
        self.reserve(40 * n + more)
        self.keys = <Keys>self.room(8 * n)
        self.slots = <Places>self.room(4 * n)
        self.v, self.z = <Floats>self.room(4 * n), <Floats>self.room(12 * n)
        self.w, self.g = <Floats>self.room(4 * n), <Floats>self.room(4 * n)
        self.inverse = <Floats>self.room(4 * n)

    cdef Py_ssize_t emit(self, Py_ssize_t row, bint learning) noexcept nogil:
        """Expand a row: return how many features it has; `base` of them are its variables."""
        return 0

    cdef void emit_base(self, Py_ssize_t row) noexcept nogil:
        """Emit a row's non-zero base features and then the constant."""
        cdef Py_ssize_t base = 0, i
        cdef int32_t variable
        cdef float x
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

    def learn(self, const float[::1] labels, const float[::1] weights, float[::1] out):
        """Predict and learn each row; return the first one that diverged, or -1."""
        cdef Py_ssize_t t, i, slot, size, bad = -1
        cdef double p, residual, square
        cdef float y, h
        cdef double[::1] totals = self.learner.totals
        cdef double[::1] residual_moments = self.learner.residual_moments
        cdef double[::1] square_moments = self.learner.square_moments
        cdef float[:] state
        for state in (self.learner.w, self.learner.g, self.learner.inverse):
            pass  # a view of an array that is read-only is refused
        cdef bint moments = square_moments.shape[0] > 0, gathers = self.records is not NULL
        cdef Record *records = self.records
        cdef Record *record
        cdef Places slots = self.slots
        cdef Floats v = self.v, w = self.w, g = self.g, inverse = self.inverse, z = self.z
        with nogil:
            for t in range(labels.shape[0]):
                size, y, h = self.emit(t, True), labels[t], weights[t]
                # Gather the state of the emitted slots, learn, and write it back.
                if gathers:
                    for i in range(size):
                        record = &records[slots[i]]
                        w[i] = record.w
                        g[i] = record.g
                        inverse[i] = record.inverse
                p = learn_adaptive(w, g, inverse, v, z, size, y, h, self.rate, &totals[0])
                totals[EXAMPLES] += 1
                totals[NONZEROS] += self.base + 1
                if gathers:
                    for i in range(size):
                        record = &records[slots[i]]
                        record.w = w[i]
                        record.g = g[i]
                        record.inverse = inverse[i]
                if not isfinite(p):
                    bad = t
                    break
                out[t] = p
                if not moments:
                    continue
                # Add to the sums of the SSM heuristic.
                residual = (y - p) * (y - p)
                for i in range(size):
                    slot = slots[i] if gathers else i
                    square = h * (<double>v[i] * <double>v[i])
                    residual_moments[slot] += residual * square
                    square_moments[slot] += square
        return bad

    def predict(self, double low, double high, float[::1] out):
        """Predict each row, clamped to a range."""
        cdef Py_ssize_t t, i, size
        cdef bint gathers = self.records is not NULL
        cdef Record *records = self.records
        cdef Record *record
        cdef Places slots = self.slots
        cdef Floats v = self.v, w = self.w, inverse = self.inverse, z = self.z
        cdef float never = NEVER
        # With the interpreter's lock: rows stamp what they emit, in the learner.
        for t in range(out.shape[0]):
            size = self.emit(t, False)
            if gathers:
                for i in range(size):
                    record = &records[slots[i]]
                    z[i] = 0
                    if record.inverse < never:
                        z[i] = record.w * (v[i] * record.inverse)
            else:
                for i in range(size):
                    z[i] = w[i] * (v[i] * inverse[i]) if inverse[i] < never else 0
            out[t] = clamp(add_up(z, size), low, high)


@cython.final
cdef class PlanExpander(Expander):
    """Expander of dense rows by a plan of products, without hashing.

    Slot j is ``value[source[j]] * x[variable[j]]``; slots are filled in order, so a source is
    always computed before its children.
    """

    cdef const float[:, ::1] rows
    cdef const uint32_t[::1] source, variable

    def __init__(self, learner, rows):
        super().__init__(learner)
        cdef const float[::1] w = learner.w, g = learner.g, inverse = learner.inverse
        self.w, self.g, self.inverse = <Floats>&w[0], <Floats>&g[0], <Floats>&inverse[0]
        self.source, self.variable = learner.source, learner.variable
        self.rows = np.ascontiguousarray(rows)
        cdef Py_ssize_t n = self.source.shape[0]
        self.reserve(16 * n)
        self.v, self.z = <Floats>self.room(4 * n), <Floats>self.room(12 * n)

    cdef Py_ssize_t emit(self, Py_ssize_t row, bint learning) noexcept nogil:
        cdef Py_ssize_t i, j, base = 0, d = self.n_variables, n = self.source.shape[0]
        cdef const float *x = &self.rows[row, 0]
        cdef const double *scale = &self.scale[0]
        cdef const uint32_t *source = &self.source[0]
        cdef const uint32_t *variable = &self.variable[0]
        cdef Floats v = self.v
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
        super().__init__(learner)
        self.indicators = learner.indicators.view(np.uint8)
        self.bits, self.degree = learner.learning.bits, learner.full_degree
        self.read_sparse(rows, longest_row, 4 * (longest_row + 1))
        self.last = <int32_t *>self.room(4 * (longest_row + 1))

    cdef Py_ssize_t emit(self, Py_ssize_t row, bint learning) noexcept nogil:
        """Emit each multiset of features once: a product is extended only to the right."""
        self.emit_base(row)
        cdef Py_ssize_t base = self.base, first_bucket = self.n_variables + 1
        cdef Py_ssize_t i, place, first, level
        cdef Keys keys = self.keys
        cdef Floats v = self.v
        cdef int32_t *last = self.last
        for i in range(base):
            last[i] = i
        # A level holds the products of one degree, from `start` to `stop`.
        cdef Py_ssize_t size = base + 1, start = 0, stop = base
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
    hashes to the same bucket is dropped (and counted). Dropping beat sharing the weight where the
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

    cdef uint64_t[::1] slot_keys, owners
    cdef uint32_t[::1] source, variable
    cdef uint8_t[::1] degree, parent, tags
    cdef int64_t[::1] counts
    cdef Record[::1] stamped
    cdef double[::1] totals
    cdef int bits
    # Places of the row's parents among its features, and a batch of look-ups. Products that may be
    # in the table are hits: their places (`left` times `right`), mixed keys and slots, and whether
    # the row has not emitted them before.
    cdef Places parents, left, right
    cdef Keys mixed, hits
    cdef int64_t *found
    cdef uint8_t *new

    def __init__(self, learner, rows):
        super().__init__(learner)
        self.slot_keys, self.owners, self.tags = learner.keys, learner.owners, learner.tags
        self.source, self.variable, self.degree = learner.source, learner.variable, learner.degree
        self.stamped, self.totals = learner.records, learner.totals
        self.parent, self.counts = learner.parent.view(np.uint8), learner.counts
        self.bits = learner.learning.bits
        cdef Py_ssize_t n = len(learner.keys), longest = np.diff(rows.indptr).max(initial=0)
        cdef Py_ssize_t batch = BATCH + longest
        self.read_sparse(rows, n, 4 * (n + 1) + 33 * batch)
        self.parents = <Places>self.room(4 * (n + 1))
        self.mixed = <Keys>self.room(8 * batch)
        self.left, self.right = <Places>self.room(4 * batch), <Places>self.room(4 * batch)
        self.hits, self.found = <Keys>self.room(8 * batch), <int64_t *>self.room(8 * batch)
        self.new = <uint8_t *>self.room(batch)

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
        self.slot_keys[slot] = key
        self.source[slot] = source
        self.variable[slot] = variable
        self.degree[slot] = self.degree[source] + 1
        return slot

    def adopt(self, HashedExpander other, const int64_t[::1] slots, int64_t[::1] here):
        """Fill `here` with the slots of another table's monomials; -1 marks those without one."""
        cdef int64_t slot, source
        for slot in slots:
            source = here[other.source[slot]]
            here[slot] = self.find(other.slot_keys[slot])
            if here[slot] == EMPTY and source >= 0:
                here[slot] = self.claim(other.slot_keys[slot], source, other.variable[slot])

    cdef Py_ssize_t look_up(self, Py_ssize_t place, Py_ssize_t n_hits, bint claims) noexcept nogil:
        """Append the hits of the parent at `place` to the `n_hits` there are; return their number.

        Neither loop branches: in a crowded table the answer cannot be predicted, and most say no.
        """
        cdef Py_ssize_t i, hit, first = n_hits, base = self.base
        cdef int shift = 64 - self.bits
        cdef Keys keys = self.keys, mixed = self.mixed
        cdef Places right = self.right
        cdef uint8_t *tags = &self.tags[0]
        cdef uint8_t tag
        # A product's key is the sum of its factors' keys.
        cdef uint64_t key = self.slot_keys[self.slots[place]]
        for i in range(base):
            mixed[i] = mix(key + keys[i])
        # Keep the places whose bucket's tag is the product's own, or empty where that may be
        # claimed.
        for i in range(base):
            tag = tags[mixed[i] >> shift]
            right[n_hits] = i
            n_hits += (tag == tag_of(mixed[i])) | (claims & (tag == 0))
        # Copy the mixed keys of those that were kept.
        for hit in range(first, n_hits):
            self.left[hit] = place
            self.hits[hit] = mixed[right[hit]]
        return n_hits

    cdef void locate(self, Py_ssize_t n_hits) noexcept nogil:
        """Write the slots of the hits to `found`; -1 where only `find` knows.

        No iteration waits for the one before, though each reads far memory.
        """
        cdef Keys owners = &self.owners[0], hits = self.hits
        cdef int64_t *found = self.found
        cdef int bits = self.bits, shift = 64 - self.bits
        cdef int64_t first = self.n_variables + 1
        cdef uint64_t key, owner, numbers = (<uint64_t>1 << bits) - 1
        cdef Py_ssize_t hit
        for hit in range(n_hits):
            # An owner is the rest of its mixed key, and in the low bits the number of its slot.
            key = hits[hit]
            owner = owners[key >> shift]
            found[hit] = (
                <int64_t>(owner & numbers) + first
                if (owner != 0) & (owner >> bits == key << bits >> bits) else -1
            )

    cdef Py_ssize_t emit(self, Py_ssize_t row, bint learning) noexcept nogil:
        """Emit a row; only one that is learned claims empty buckets."""
        self.emit_base(row)
        self.counts[ROWS] += 1
        # The first parents are base features.
        cdef Py_ssize_t i, n_parents = 0, done = 0, size = self.base + 1
        for i in range(self.base):
            self.parents[n_parents] = i
            n_parents += self.parent[self.slots[i]]
        # Multiply parents, those among their products too, until none is left.
        while done < n_parents:
            self.multiply_batch(&done, &size, &n_parents, learning)
        if learning:
            self.totals[DROPPED] = self.counts[COLLISIONS]
        return size

    cdef void multiply_batch(
        self, Py_ssize_t *first, Py_ssize_t *n_features, Py_ssize_t *queued, bint learning
    ) noexcept nogil:
        """Emit the products of some parents, looked up together.

        Moves on the first parent that is to do, and how many features and parents the row has.
        """
        cdef Py_ssize_t done = first[0], size = n_features[0], n_parents = queued[0]
        cdef Py_ssize_t hit, n_hits = 0
        cdef int64_t dropped = 0, slot
        cdef uint64_t key
        cdef uint32_t last_row = self.counts[ROWS]
        cdef Record *records = self.records
        cdef Record *record
        cdef Places slots = self.slots
        cdef Floats v = self.v
        cdef Places parents = self.parents, left = self.left, right = self.right
        cdef int64_t *found = self.found
        cdef uint8_t *new = self.new
        cdef uint8_t *is_parent = &self.parent[0]
        # Look up the products of parents until the batch is full; no hit means that it was dropped.
        while done < n_parents and n_hits < BATCH:
            n_hits = self.look_up(parents[done], n_hits, learning)
            dropped += self.base
            done += 1
        dropped -= n_hits
        self.locate(n_hits)
        # Claim an empty bucket, or drop what belongs to another monomial.
        for hit in range(n_hits):
            if found[hit] < 0:
                key = self.slot_keys[slots[left[hit]]] + self.keys[right[hit]]
                found[hit] = self.find(key)
                if found[hit] == EMPTY and learning:
                    found[hit] = self.claim(key, slots[left[hit]], slots[right[hit]])
                dropped += found[hit] < 0
        if learning:
            self.counts[COLLISIONS] += dropped
        # Stamp what the row emits for the first time.
        for hit in range(n_hits):
            slot = found[hit]
            record = &records[slot if slot > 0 else 0]
            new[hit] = (record.last_row != last_row) & (slot >= 0)
            record.last_row = last_row
        # Write all, and count those that are new.
        for hit in range(n_hits):
            slot = found[hit]
            slots[size] = slot
            v[size] = v[left[hit]] * v[right[hit]]
            parents[n_parents] = size
            n_parents += new[hit] & is_parent[slot if slot > 0 else 0]
            size += new[hit]
        first[0], n_features[0], queued[0] = done, size, n_parents


cpdef uint64_t mix(uint64_t key) noexcept nogil:
    """Return the key with its bits spread, one to one: splitmix64's finaliser."""
    cdef uint64_t z = (key ^ (key >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EB
    return z ^ (z >> 31)


cdef uint8_t tag_of(uint64_t mixed) noexcept nogil:
    """Return a byte of a mixed key that is never 0."""
    return (mixed & 0x7F) | 0x80
