"""Data inside a page: gzipped JSON in base64, unpacked by the browser when it is looked at."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

from tasks.report.draw.specs import compact


def packed(value: Any) -> str:
    """`value` as text that is safe in HTML and about a third of its JSON's size."""
    return packed_text(compact(value))


def packed_text(content: str) -> str:
    """Text, packed; equal text gives equal bytes."""
    return base64.b64encode(gzip.compress(content.encode(), compresslevel=9, mtime=0)).decode()


def unpacked(content: str) -> Any:
    """The inverse of `packed`."""
    return json.loads(gzip.decompress(base64.b64decode(content)))
