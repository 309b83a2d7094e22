"""The measure of promotions, where the answer is known."""

import math

import numpy as np
import pytest

from benchmarks.promotion import (
    KINDS,
    TESTS,
    Foreknown,
    by_test,
    known,
    labels,
    main,
    promoted,
    real,
    relapse,
    reversal,
    verdicts,
)
from leaseboard.algorithms.sequential_test import SequentialTest


@pytest.mark.parametrize("draw", KINDS.values(), ids=list(KINDS))
def test_equal_predictors_are_equal_and_a_gain_is_a_gain(draw):
    rng = np.random.default_rng(0)
    equal, better = draw(rng, 100_000, 0.0), draw(rng, 100_000, 0.2)

    assert abs(equal.mean()) < 4 * equal.std() / math.sqrt(100_000)
    assert better.mean() > 4 * better.std() / math.sqrt(100_000)


def test_labels_of_the_fixed_size_test_by_hand():
    reported = known(np.array([1.0, 1.0, 1.0, -1.0] * 100))

    assert reported.labels == pytest.approx(6.18 * 0.75 / 0.25, rel=1e-3)
    assert reported.clip == 1.0


def test_a_sequential_test_in_pieces_ends_where_it_would_label_by_label():
    differences = verdicts(np.random.default_rng(3), 30_000, 0.05)
    found = by_test(differences, Foreknown(1.0, 1.0))
    before = SequentialTest().update_many(differences[: found - 1], np.zeros(found - 1))

    assert found > 2000
    assert before.decision(0.05) == "undecided"
    assert before.update(differences[found - 1], 0.0).decision(0.05) == "challenger"


def test_only_bets_that_learn_promote_who_is_worse_on_average():
    shares = promoted(reversal, Foreknown(2.0, 2000), 10)

    assert shares["Newton"] == 1.0
    assert shares["SequentialTest"] == 0.0


def test_a_large_gain_is_seen_by_all_and_a_reversal_by_the_sequential_test_that_restarts():
    reported = Foreknown(1.0, 500.0)
    found = labels(lambda rng, n, _: verdicts(rng, n, 0.2), reported, 10)
    late, never = (
        relapse(lambda rng, n, _: verdicts(rng, n, 0.3), reported, 5, restarts=each)
        for each in (True, False)
    )

    assert set(found) == set(TESTS)
    assert np.median(found["SequentialTest"]) < 4
    assert np.median(late) < np.median(never)


def test_real_labels_give_equals_and_a_gain():
    draw = real("synthetic:fried?rows=5000&seed=0", ())
    rng = np.random.default_rng(1)

    assert draw(rng, 20_000, 0.05).mean() > 0
    assert abs(draw(rng, 20_000, 0.0).mean()) < 4 * draw(rng, 20_000, 0.0).std() / 141


def test_a_line_for_every_kind(capsys, monkeypatch):
    monkeypatch.setattr("benchmarks.promotion.KINDS", {"0/1, near": verdicts})
    monkeypatch.setattr("benchmarks.promotion.TURNED", ("0/1, near",))
    main(["--comparisons", "2", "--runs", "1"])
    lines = capsys.readouterr().out.splitlines()

    assert [line[:9].strip() for line in lines] == [
        "promoted,", "0/1, near", "reversal", "labels ov", "0/1, near", "roll-back", "0/1, near",
    ]  # fmt: skip


def test_no_runs_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--runs", "0"])
    assert "give at least 1" in capsys.readouterr().err
