"""ChaCha for one's own streams: predict one, learn one, save, inspect, hand over to VW."""

from leaseboard.algorithms.chacha.streaming.classifier import ChaChaClassifier
from leaseboard.algorithms.chacha.streaming.many_streams import learn_streams
from leaseboard.algorithms.chacha.streaming.regressor import ChaChaRegressor

__all__ = ["ChaChaClassifier", "ChaChaRegressor", "learn_streams"]
