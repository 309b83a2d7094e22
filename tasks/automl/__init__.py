"""scikit-learn estimators that choose and tune a learner by any policy over arms."""

from __future__ import annotations

from tasks.automl.estimators import PolicyClassifier, PolicyRegressor

__all__ = ["PolicyClassifier", "PolicyRegressor"]
