"""Models for streams of one's own: predict one, learn one, save, inspect."""

from leaseboard.algorithms.online_automl.streaming.classifier import OnlineAutoMLClassifier
from leaseboard.algorithms.online_automl.streaming.regressor import OnlineAutoMLRegressor

__all__ = ["OnlineAutoMLClassifier", "OnlineAutoMLRegressor"]
