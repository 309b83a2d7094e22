"""Results made up by hand, small enough to check every number on paper."""

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import pytest

from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.score.frame import to_frame

Make = Callable[..., pd.DataFrame]


def frame_of(
    scores: Mapping[tuple[str, str], Sequence[float | str]], **fields: Any
) -> pd.DataFrame:
    """Return a frame from ``{(label, data): [score or status, one a repetition]}``."""
    results = []
    for (label, data), cells in scores.items():
        for repetition, cell in enumerate(cells):
            ok = not isinstance(cell, str)
            results.append(
                Result(
                    **{
                        "key": f"{zlib.crc32(f'{label} {data}'.encode())}-{repetition}",
                        "algorithm": label,
                        "name": label,
                        "data": data,
                        "digest": f"sha-{data}",
                        "seed": 100 + repetition,
                        "environment_seed": 200 + repetition,
                        "repetition": repetition,
                        "status": "ok" if ok else cell,
                        "reason": "" if ok else f"{cell} for a reason",
                        "score": cell if ok else None,
                        "metric": "progressive_mse" if ok else "",
                        "direction": "min",
                        "cpu_seconds": 1.0 if ok else 0.0,
                        **fields,
                    }
                )
            )
    return to_frame(results)


@pytest.fixture
def make_frame() -> Make:
    return frame_of
