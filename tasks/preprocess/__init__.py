"""From a `Dataset` to what learners take: a stream, arrays, splits. Fitted on training rows."""

from __future__ import annotations

from tasks.preprocess.splits import Split, split, split_by_column
from tasks.preprocess.stream import StreamOptions, as_features, as_stream
from tasks.preprocess.tables import Arrays, Encoder, as_arrays, fit

__all__ = [
    "Arrays",
    "Encoder",
    "Split",
    "StreamOptions",
    "as_arrays",
    "as_features",
    "as_stream",
    "fit",
    "split",
    "split_by_column",
]
