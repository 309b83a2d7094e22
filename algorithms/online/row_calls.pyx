"""Base of what predicts and learns examples that are written into one row, for other kernels."""


cdef class RowCalls:
    """Calls for the example in a row, see `leaseboard.algorithms.online_automl.race.Race`."""

    cdef double predict_row(self) except? -1:
        raise NotImplementedError

    cdef bint learn_row(self, double label, double importance) except -1:
        raise NotImplementedError

    def predict(self):
        """Return the prediction; nothing is learned."""
        return self.predict_row()

    def learn(self, double label, double importance):
        """Learn it; return whether a decision is due."""
        return self.learn_row(label, importance)
