"""How a kept model stands: one page that opens offline, and a few lines for a terminal."""

from leaseboard.tasks.keep.page.status import status
from leaseboard.tasks.keep.page.whole import build

__all__ = ["build", "status"]
