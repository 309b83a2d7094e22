"""From a `Dataset` to a stream, arrays or splits; encoders are fitted on training rows."""

INDICATOR, CODE, MANY = 1, 2, 3
"""Kinds of the features of a column that has a 0/1 feature for each category and one for all; the
latter is of kind `MANY` if there are many categories."""
