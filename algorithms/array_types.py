"""Types of the arrays that kernels take: single and double precision, columns."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Slots = NDArray[np.int64]
