"""The report: one page that opens offline, made from a run's results and event logs alone."""

from leaseboard.tasks.report.build import build, figures, refresh, suite_of

__all__ = ["build", "figures", "refresh", "suite_of"]
