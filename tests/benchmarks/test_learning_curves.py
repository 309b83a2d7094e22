import numpy as np
import pandas as pd
import pytest

from benchmarks.learning_curves import best_so_far, curves_of, main
from leaseboard.algorithms.errors import UsageError


def table():
    return pd.DataFrame(
        {"openmlid": data, "outer_seed": seed, "inner_seed": inner, "learner": f"learner{arm}",
         "size_train": 16 * (k + 1), "score_valid": 0.5 + 0.04 * arm + 0.02 * k}
        for data in (3, 4) for seed in (0, 1) for inner in (0, 1) for arm in range(5)
        for k in range(4) if (data, arm) != (4, 1)
    )  # fmt: skip


def test_an_arm_is_a_learner_in_an_order_of_the_repetition_and_a_missing_one_fails():
    places, rewards = curves_of(table(), 6)

    assert places == [("3", 0), ("3", 1), ("4", 0), ("4", 1)]
    assert rewards.shape == (4, 5, 6)
    assert np.isnan(rewards).all(axis=2).sum(axis=1).tolist() == [0, 0, 1, 1]
    assert np.nanmax(rewards, axis=(1, 2)) == pytest.approx([0.72] * 4)
    assert np.ptp(rewards[0, :, 3:], axis=1).max() == 0  # the last of four, again
    assert len({tuple(each[:, 0]) for each in rewards}) > 1
    fewer = table().query("openmlid == 3 or learner != 'learner2'")
    assert [data for data, _ in curves_of(fewer, 6)[0]] == ["3", "3"]
    with pytest.raises(UsageError, match="enough learners"):
        curves_of(table().head(0), 6)


def test_a_run_prints_the_policies_the_least_regret_first(tmp_path):
    table().to_csv(tmp_path / "curves.csv")
    lines: list[str] = []
    names = ["max-ucb", "posterior-max"]
    main([str(tmp_path / "curves.csv"), "--budget", "12", "--policies", *names], lines.append)

    assert lines[0].startswith("4 repetitions of 2 datasets, 5 arms, 12 pulls")
    assert sorted(line.split()[0] for line in lines[2:]) == names
    best = best_so_far("posterior-max", curves_of(table(), 12)[1])
    assert best[:, -1] == pytest.approx([0.72] * 4)
