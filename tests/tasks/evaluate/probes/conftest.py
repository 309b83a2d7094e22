import numpy as np
import pytest

from leaseboard.tasks.evaluate.probes.sample_rows import Samples


@pytest.fixture
def samples():
    """Return rows whose labels follow from one feature."""
    rng = np.random.default_rng(0)
    features = rng.random((600, 3), dtype=np.float32)
    labels = (features[:, 0] > 0.5).astype(np.int32)
    return Samples(features=features, labels=labels, train_rows=400)
