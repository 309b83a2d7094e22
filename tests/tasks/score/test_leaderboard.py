"""Tables of scores and the leaderboard; intervals and tests."""

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.stats import rankdata

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.inference import (
    ALPHA,
    FEWEST,
    mean_interval,
    p_value,
    paired,
    pairwise,
    wilcoxon,
)
from leaseboard.tasks.score.leaderboard import (
    FAILED,
    NOT_DONE,
    OK,
    SKIPPED,
    Scale,
    leaderboard,
    normalised,
    scaled,
    score_table,
)
from tests.tasks.score.conftest import frame_of

SCALE = Scale("vanilla", "exhaustive")
SCORES = {
    ("vanilla", "x"): [4.0, 4.0], ("exhaustive", "x"): [2.0, 2.0], ("chacha", "x"): [3.0, 1.0],
    ("vanilla", "y"): [10.0, 10.0], ("exhaustive", "y"): [9.0, 9.0], ("chacha", "y"): [9.5, 9.5],
}  # fmt: skip


def table(scores, **fields):
    return score_table(as_frame(frame_of(scores, **fields)))


def board(scores, scale=None, baselines=(), **fields):
    frame = as_frame(frame_of(scores, **fields))
    frame["baseline"] = frame["name"].isin(baselines)
    return leaderboard(frame, scale)


def test_means_and_spreads_are_of_finished_repetitions_alone():
    found = table({("a", "x"): [1.0, 3.0, "crash"], ("b", "x"): [1.0], ("c", "x"): ["skipped"]})
    assert found.means["x"][:2].tolist() == [2.0, 1.0]
    assert found.sds.loc["a", "x"] == pytest.approx(np.sqrt(2.0))
    assert np.isnan(found.sds.loc["b", "x"])
    assert found.states["x"].to_numpy().tolist() == [
        [OK, OK, FAILED], [OK, NOT_DONE, NOT_DONE], [SKIPPED, NOT_DONE, NOT_DONE]
    ]  # fmt: skip
    metric = as_frame(frame_of({("a", "x"): [1.0]}, metrics={"test": 0.5}))
    assert score_table(metric, "test").scores.to_numpy().tolist() == [[0.5]]
    assert score_table(metric, "unheard of").scores.isna().all(axis=None)


RANKS = {
    "ties by rounding": ({"a": [1.0], "b": [2.0], "c": [1.0 + 1e-12]}, [1.5, 3, 1.5]),
    "a failure is worst": ({"a": [1.0, "timeout"], "b": [2.0, 2.5], "c": [4.0, 4.0]}, [2, 1, 3]),
    "no score at all": ({"a": ["crash", "memout"], "b": [2.0, 2.0], "c": [1.0, 1.0]}, [3, 2, 1]),
    "skipped": ({"a": ["skipped"], "b": [2.0]}, [np.nan, 1]),
    "nothing": ({"a": ["crash"], "b": ["skipped"]}, [np.nan, np.nan]),
}  # fmt: skip


@pytest.mark.parametrize("case", RANKS)
def test_ranks(case):
    scores, expected = RANKS[case]
    found = table({(label, "x"): cells for label, cells in scores.items()})
    assert found.ranks()["x"].tolist() == pytest.approx(expected, nan_ok=True)


def test_what_one_leaderboard_cannot_compare_is_refused():
    frame = as_frame(frame_of({("a", "x"): [1.0], ("b", "x"): [2.0]}))
    frame.loc[0, "metric"] = "accuracy"
    with pytest.raises(UsageError, match="accuracy, progressive_mse"):
        score_table(frame)
    frame = frame_of({("a", "x"): [1.0, 2.0]}).assign(repetition=0)
    with pytest.raises(UsageError, match="two results for a on x, repetition 0"):
        as_frame(frame)


def test_normalised_score_is_0_for_vanilla_and_1_for_exhaustive():
    values = normalised(table(SCORES), "vanilla", "exhaustive").to_numpy().tolist()
    assert values == [[0, 0, 0, 0], [1, 1, 1, 1], [0.5, 1.5, 0.5, 0.5]]
    scores = {("vanilla", "x"): [0.6], ("exhaustive", "x"): [0.8], ("chacha", "x"): [0.75]}
    found = normalised(table(scores, direction="max"), "vanilla", "exhaustive")
    assert found.loc["chacha", ("x", 0)] == pytest.approx(0.75)
    level = {("vanilla", "x"): [2.0], ("exhaustive", "x"): [2.0], ("chacha", "x"): [1.0]}
    assert normalised(table(level), "vanilla", "exhaustive").isna().all(axis=None)
    unknown = normalised(table(SCORES), "vanilla", "unheard of")
    assert unknown.isna().all(axis=None)


def test_scaled_score_spans_the_worst_to_the_best_of_each_repetition():
    values = scaled(table(SCORES))
    assert values["y", 0].tolist() == [0.0, 1.0, 0.5]
    assert values["x"].to_numpy().T.tolist() == [[0.0, 1.0, 0.5], [0.0, 2 / 3, 1.0]]
    assert scaled(table({("a", "x"): [2.0], ("b", "x"): [2.0]}))["x", 0].tolist() == [1.0, 1.0]
    for direction in ("min", "max"):  # a failure is 0 next to equals too
        scores = {("a", "x"): [2.0, 3.0, "crash"], ("bad", "x"): ["crash", "timeout", "crash"]}
        found = scaled(table(scores, direction=direction))
        assert found["x"].to_numpy().tolist() == [[1, 1, 0], [0, 0, 0]]


def test_rows_are_ordered_by_mean_rank_then_score_then_cost():
    found = board(SCORES, SCALE)
    assert list(found.frame.index) == ["exhaustive", "chacha", "vanilla"]
    best = found.frame.iloc[0]
    assert best[["place", "rank", "score"]].tolist() == [1, 1.25, 1.0]
    scores = {("dear", "x"): [1.0], ("cheap", "x"): [1.0], ("no", "x"): ["skipped"]}
    frame = as_frame(frame_of(scores))
    frame.loc[frame["name"] == "cheap", "cpu_seconds"] = 0.1
    assert leaderboard(frame).frame["place"].to_dict() == {"cheap": 1, "dear": 1, "no": 3}


def test_relative_loss_is_over_the_best_baseline_of_each_dataset():
    scores = {("mean", "x"): [4.0], ("mean", "y"): [2.0], ("ridge", "x"): [2.0],
              ("ridge", "y"): [8.0], ("mine", "x"): [1.0], ("mine", "y"): [4.0],
              ("bad", "x"): [1.0], ("bad", "y"): ["crash"]}  # fmt: skip
    found = board(scores, baselines=("mean", "ridge")).frame["relative_loss"]
    assert found["mine"] == pytest.approx(1.0)  # .5 and 2
    assert found["mean"] == pytest.approx(2**0.5)
    assert found["bad"] == pytest.approx((0.5 * 4) ** 0.5)  # a failure is the worst of all
    one = board({("mean", "x"): [4.0, 2.0], ("mine", "x"): [1.0, 2.0]}, baselines=("mean",))
    assert one.frame.loc["mine", "relative_loss"] == pytest.approx(1.5 / 3.0)
    assert not board(SCORES).has_baselines
    assert not board(SCORES, baselines=("vanilla",), direction="max").has_baselines


@pytest.mark.parametrize(
    ("mean", "mine", "expected", "left_out"),
    [((0.5, 0.5), (0.0, 5.0), 0.0, ()), ((0.0, 0.5), (1.0, 5.0), 10.0, ("x",))],
)
def test_a_loss_of_0_makes_the_mean_0_and_of_a_baseline_leaves_the_dataset_out(
    mean, mine, expected, left_out
):
    scores = {(label, data): [loss] for label, cells in (("mean", mean), ("mine", mine))
              for data, loss in zip("xy", cells, strict=True)}  # fmt: skip
    found = board(scores, baselines=("mean",))
    assert found.frame.loc["mine", "relative_loss"] == pytest.approx(expected)
    assert found.without_relative == left_out


TURNED = {(label, data): runs for data in "xy" for label, runs in {
    "a": [(0.95, 0.80), (0.95, 0.82)],
    "b": [(0.90, 0.83), (0.90, 0.81)],
    "c": [(0.85, 0.90), (0.85, 0.93)],
}.items()}  # fmt: skip


def policies(cells, **fields):
    """Return the leaderboard of ``{(label, data): [(validation, test), one a repetition]}``."""
    scores = {which: [one for one, _ in runs] for which, runs in cells.items()}
    given = {"environment": "pulls", "direction": "max", "metric": "validation_accuracy"} | fields
    frame = frame_of(scores, **given)
    tests = [test for runs in cells.values() for _, test in runs]
    frame["metrics"] = [{} if test is None else {"test": test} for test in tests]
    return leaderboard(as_frame(frame)).frame


def test_where_validation_ranks_the_test_is_next_to_it():
    assert policies(TURNED)["test_rank"].to_dict() == {"a": 3.0, "b": 2.0, "c": 1.0}
    failed = policies({**TURNED, ("d", "x"): [("crash", None), ("crash", None)]})
    assert failed.loc["d", "test_rank"] == 4
    one = policies({which: runs for which, runs in TURNED.items() if which[1] == "x"})
    assert one["test_rank"].isna().all()
    assert one["test"].to_dict() == pytest.approx({"a": 0.81, "b": 0.82, "c": 0.915})
    for without in (
        policies({("a", "x"): [(0.9, None)]}),
        policies(TURNED, environment="samples"),
    ):
        assert without["test"].isna().all()


EFFECTS = {
    "normal": (lambda random, n: random.normal(1.0, 1.0, n), 1.0),
    "tailed": (lambda random, n: random.standard_t(3, n), 0.0),
    "lognormal": (lambda random, n: random.lognormal(size=n), np.exp(0.5)),
    "ranks": (lambda random, n: random.choice([1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 5.0], n), 15 / 7),
    "wins": (lambda random, n: np.rint(random.random(n) * 0.6 + 0.4), 5 / 6),
}
"""Distributions of the mean score of a dataset, each with its mean."""


@pytest.mark.parametrize("effect", EFFECTS)
def test_an_interval_holds_the_mean_over_datasets_or_is_not_given(effect):
    draw, mean = EFFECTS[effect]
    random = np.random.default_rng(0)
    for n in (2, FEWEST, 20):
        found = [mean_interval(draw(random, n)) for _ in range(4000 if n >= FEWEST else 50)]
        given = [each for each in found if np.isfinite([each.lower, each.upper]).any()]
        if n < FEWEST:
            assert not given
        else:  # with less than a standard error and a half of slack
            assert np.mean([each.lower <= mean <= each.upper for each in given]) >= 0.925, n


def test_copies_missing_and_infinite_values_have_no_interval():
    for values in ([0.1 + 0.2] * 5 + [0.3] * 5, [*range(7), *[np.nan] * 9], [np.inf, *range(9)]):
        found = mean_interval(np.array(values, dtype=float))
        assert np.isnan([found.lower, found.upper]).all()
    assert np.isnan(mean_interval(np.full(9, np.nan)).value)


OLD = np.array([2.0, 4.0, 6.0])


def test_the_gain_is_the_mean_over_pairs_of_what_is_better_over_the_old_mean():
    found = paired(OLD, np.array([1.0, 4.0, 4.0]), "min")

    assert (found.old, found.new, found.n) == (4.0, 3.0, 3)
    assert found.drop.value == pytest.approx(-0.25)  # (1 + 0 + 2) / 3 / 4
    assert np.isnan(found.drop.lower)  # of three pairs
    # Student's t of eight degrees of freedom is 2.306; the deviation of 0 to 8 is 2.739.
    half = 2.306004 * 2.738613 / 3
    drop = paired(np.ones(9), np.arange(1.0, 10.0), "min").drop
    assert (drop.lower, drop.upper) == pytest.approx((4 - half, 4 + half))
    assert not found.same
    assert (found.p_value_of_gain, found.p_value_of_drop) == (0.25, 1.0)  # of two pairs that moved


def test_the_chance_is_that_of_all_choices_of_signs_and_scipys_without_ties():
    for n in (1, 2, 3, 7, 10):
        rng = np.random.default_rng(n)
        for differences in (rng.normal(size=n), rng.integers(-2, 3, size=n).astype(float)):
            moved = differences[differences != 0]
            ranks = rankdata(np.abs(moved))
            observed = ranks[moved > 0].sum()
            signs = itertools.product((0, 1), repeat=len(moved))
            share = np.mean([np.dot(ranks, each) >= observed for each in signs])
            assert p_value(differences) == pytest.approx(share)
    for n in (12, 24):
        differences = np.random.default_rng(n).normal(0.2, size=n)
        theirs = stats.wilcoxon(differences, alternative="greater", method="exact").pvalue
        assert p_value(differences) == pytest.approx(theirs)


def pairs_of(make_frame, scores):
    return pairwise(score_table(as_frame(make_frame(scores))))


def test_a_clear_difference_is_found_and_equals_do_not_differ(make_frame):
    random, scores = np.random.default_rng(0), {}
    for p, base in enumerate(random.normal(10, 1, 12)):
        scores["good", f"d{p}"] = [base]
        scores["same", f"d{p}"] = [base + random.choice([-0.1, 0.1])]
        scores["bad", f"d{p}"] = [base + 2.0 + random.uniform(0, 0.1)]
        scores["good again", f"d{p}"] = [base]
    found, n = pairs_of(make_frame, scores)
    assert n == 12
    worse = {names for names, p in found.items() if p <= ALPHA}
    assert worse == {frozenset((name, "bad")) for name in ("good", "same", "good again")}
    assert found[frozenset(("good", "good again"))] == 1.0
    gaps = [scores["good", f"d{p}"][0] - scores["bad", f"d{p}"][0] for p in range(12)]
    raw = stats.wilcoxon(gaps).pvalue
    assert found[frozenset(("good", "bad"))] == pytest.approx(6 * raw)


def test_pairs_are_tested_over_all_choices_of_signs_with_ties_and_total_failures():
    first = np.array([1.0, 2.0, -np.inf, 4.0, 6.0, 5.0, 7.0])
    second = np.array([2.0, 1.0, 3.0, 7.0, 9.0, 5.0, 8.0])
    ranks = np.array([2.0, 2.0, 6.0, 4.5, 4.5, 2.0])  # of the pairs that differ
    found = abs(np.dot(ranks, [-1, 1, -1, -1, -1, -1]))
    sums = [abs(np.dot(ranks, signs)) for signs in itertools.product((-1, 1), repeat=6)]
    assert wilcoxon(first, second) == np.mean(np.array(sums) >= found)


def test_who_was_skipped_somewhere_takes_no_part_and_who_failed_is_the_worst(make_frame):
    scores = {("a", f"d{p}"): [1.0 + p] for p in range(7)}
    scores |= {("b", f"d{p}"): ["crash"] for p in range(7)} | {("c", "d0"): [1.0]}
    found, n = pairs_of(make_frame, scores)
    assert n == 7
    assert found[frozenset("ab")] <= ALPHA
    assert found.keys() == {frozenset("ab")}
    assert pairs_of(make_frame, {("a", "x"): ["crash"]}) == ({}, 0)
