"""From a `Dataset` to what learners take: a stream, arrays, splits. Fitted on training rows."""

from __future__ import annotations

from leaseboard.tasks.preprocess.splits import Split, split, split_by_column
from leaseboard.tasks.preprocess.streaming import StreamOptions, as_stream
from leaseboard.tasks.preprocess.tables import TableEncoder

__all__ = [
    "Split",
    "StreamOptions",
    "TableEncoder",
    "as_stream",
    "split",
    "split_by_column",
]
