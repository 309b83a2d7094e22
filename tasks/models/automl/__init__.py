"""scikit-learn estimators that choose and tune a learner by any policy over arms."""
