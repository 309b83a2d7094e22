"""Models for streams of one's own: predict one, learn one, save, inspect, hand over to VW."""

from leaseboard.algorithms.online_automl.streaming.classifier import OnlineAutoMLClassifier
from leaseboard.algorithms.online_automl.streaming.many_streams import learn_streams
from leaseboard.algorithms.online_automl.streaming.regressor import OnlineAutoMLRegressor

__all__ = ["OnlineAutoMLClassifier", "OnlineAutoMLRegressor", "learn_streams"]
