"""Where data come from: references, sources, mirrors, digests and the cache."""

from __future__ import annotations

from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.fetch.inventory import (
    Listed,
    Verified,
    catalogue,
    import_file,
    is_imported,
    verify,
)
from leaseboard.tasks.fetch.loading import check, check_here, load

__all__ = [
    "Dataset",
    "Listed",
    "Verified",
    "catalogue",
    "check",
    "check_here",
    "import_file",
    "is_imported",
    "load",
    "verify",
]
