"""ChaCha for one's own streams: predict one, learn one, save, inspect, hand over to VW."""

from algorithms.chacha.streaming.estimators import ChaChaClassifier, ChaChaRegressor

__all__ = ["ChaChaClassifier", "ChaChaRegressor"]
