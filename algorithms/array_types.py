"""Types of the arrays that kernels take: single and double precision, columns, numbers."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int32]
Slots = NDArray[np.int64]
