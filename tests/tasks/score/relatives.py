"""Results of apple and its baselines on two datasets, for the tests of equation 2."""

from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.score.frame import as_frame

BASELINES = ("linear", "quadratic", "cubic")


def results(**errors):
    return [
        Result(key=f"job-{len(label)}-{data}", algorithm=label, name=label, data=data, digest="",
               seed=0, environment_seed=0, repetition=0, status="ok", score=score,
               cpu_seconds=seconds)
        for label, scores in errors.items()
        for data, (score, seconds) in zip("ab", scores, strict=True)
    ]  # fmt: skip


FRAME = as_frame(
    results(
        linear=[(0.5, 1), (0.3, 2)],
        quadratic=[(0.4, 3), (0.3, 2)],
        cubic=[(0.3, 9), (0.3, 8)],
        **{"apple(1)": [(0.25, 2), (0.2, 3)], "apple(0.5)": [(0.45, 1), (0.1, 2)]},
    )
)
