"""Tables of scores, their common scales, and the leaderboard that is made of them."""

import numpy as np
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.log_format import write_log
from leaseboard.tasks.folder.results import EVENTS, assemble, begin, finish, shown_at
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.score.board import jobs_text
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.leaderboard import leaderboard
from leaseboard.tasks.score.table import (
    FAILED,
    NOT_DONE,
    OK,
    SKIPPED,
    Scale,
    normalised,
    relative_losses,
    scaled,
    score_table,
    significant,
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


def row(of, label):
    return next(each for each in of.rows if each.name == label)


def test_means_and_spreads_are_of_finished_repetitions_alone():
    found = table({("a", "x"): [1.0, 3.0, "crash"], ("b", "x"): [1.0]})
    assert found.means.tolist() == [[2.0], [1.0]]
    assert found.sds[0] == pytest.approx([np.sqrt(2.0)])
    assert np.isnan(found.sds[1])
    assert found.states.tolist() == [[[OK, OK, FAILED]], [[OK, NOT_DONE, NOT_DONE]]]


def test_ranks_follow_the_direction_and_ties_share_theirs():
    scores = {("a", "x"): [1.0], ("b", "x"): [2.0], ("c", "x"): [1.0 + 1e-12], ("d", "x"): [3.0]}
    assert table(scores).ranks()[:, 0].tolist() == [1.5, 3.0, 1.5, 4.0]
    scores = {("a", "x"): [0.7], ("b", "x"): [0.9]}
    assert table(scores, direction="max").ranks()[:, 0].tolist() == [2, 1]


def test_a_failed_repetition_counts_as_the_worst_and_one_without_any_score_ranks_last():
    found = table({("a", "x"): [1.0, "timeout"], ("b", "x"): [2.0, 2.5], ("c", "x"): [4.0, 4.0]})
    assert found.gains[0, 0].tolist() == [-1.0, -4.0]
    assert found.ranks()[:, 0].tolist() == [2.0, 1.0, 3.0]
    scores = {("a", "x"): ["crash", "memout"], ("b", "x"): [2.0, 2.0], ("c", "x"): [1.0, 1.0]}
    assert table(scores).ranks()[:, 0].tolist() == [3.0, 2.0, 1.0]
    assert np.isnan(table({("a", "x"): ["crash"], ("b", "x"): ["skipped"]}).ranks()).all()


def test_a_skipped_algorithm_is_left_out_of_that_dataset():
    scores = {("a", "x"): ["skipped"], ("b", "x"): [2.0], ("a", "y"): [1.0], ("b", "y"): [2.0]}
    found = table(scores)
    assert np.isnan(found.ranks()[0, 0])
    assert found.ranks()[:, 1].tolist() == [1.0, 2.0]
    assert found.states[0, 0, 0] == SKIPPED


def test_who_ended_early_ranks_after_all_that_did_not():
    frame = frame_of({("short", "a"): [0.0], ("good", "a"): [1.0], ("bad", "a"): [9.0]})
    frame.loc[frame["name"] == "short", "complete"] = False
    found = leaderboard(frame)
    places = [(each.name, each.place) for each in found.rows]
    assert places == [("good", 1), ("bad", 2), ("short", 3)]
    short = found.rows[-1]
    assert (short.n_ok, short.n_early, short.n_jobs) == (0, 1, 1)
    assert np.isnan(short.raw.value)
    assert "0 ok, 1 ended early" in jobs_text(short)
    frame = frame_of({("short", "a"): [0.0, 2.0], ("good", "a"): [3.0, 3.0]})
    frame.loc[0, "complete"] = False
    assert score_table(frame).gains[0, 0].tolist() == [-3.0, -2.0]


def test_a_metric_in_addition_to_the_score_makes_a_table():
    frame = as_frame(frame_of({("a", "x"): [1.0]}, metrics={"test": 0.5}))
    assert score_table(frame, "test").scores.tolist() == [[[0.5]]]
    assert score_table(frame, "cpu_seconds").scores.tolist() == [[[1.0]]]
    assert np.isnan(score_table(frame, "unheard of").scores).all()


def test_what_one_leaderboard_cannot_compare_is_refused(tmp_path):
    frame = as_frame(frame_of({("a", "x"): [1.0], ("b", "x"): [2.0]}))
    frame.loc[0, "metric"] = "accuracy"
    with pytest.raises(UsageError, match="accuracy, progressive_mse"):
        score_table(frame)
    frame = frame_of({("a", "x"): [1.0, 2.0]})
    frame["repetition"] = 0
    with pytest.raises(UsageError, match="two results for a on x, repetition 0"):
        as_frame(frame)
    with pytest.raises(UsageError, match=r"no results at .*results\.parquet"):
        as_frame(shown_at(tmp_path))


def test_significant_digits():
    found = significant(np.array([1234567891.4, 0.0, -0.1234567891234])).tolist()
    assert found == [1234567890.0, 0.0, -0.123456789]


def test_a_frame_survives_its_file(tmp_path):
    frame = frame_of({("a", "<x>"): [1.0, "crash"]}, metrics={"test": 0.5}, champion={"b": [1, 2]})
    made = [Result(**each | {"score": each["score"] if each["status"] == "ok" else None})
            for each in frame.to_dict("records")]  # fmt: skip
    for result in made:
        write_log(begin(tmp_path, result.key) / EVENTS, [])
        finish(tmp_path, result)
    assemble(tmp_path, made)
    back = as_frame(shown_at(tmp_path))
    assert back["metrics"].tolist() == [{"test": 0.5}] * 2
    assert back["champion"].tolist() == [{"b": [1, 2]}] * 2
    assert back["score"].tolist() == pytest.approx([1.0, np.nan], nan_ok=True)
    assert not list(tmp_path.glob("*.part"))


def test_normalised_score_is_0_for_vanilla_and_1_for_exhaustive():
    values = normalised(table(SCORES), "vanilla", "exhaustive").tolist()
    assert values == [[[0, 0], [0, 0]], [[1, 1], [1, 1]], [[0.5, 1.5], [0.5, 0.5]]]
    scores = {("vanilla", "x"): [0.6], ("exhaustive", "x"): [0.8], ("chacha", "x"): [0.75]}
    found = normalised(table(scores, direction="max"), "vanilla", "exhaustive")
    assert found[2, 0, 0] == pytest.approx(0.75)
    level = {("vanilla", "x"): [2.0], ("exhaustive", "x"): [2.0], ("chacha", "x"): [1.0]}
    assert np.isnan(normalised(table(level), "vanilla", "exhaustive")).all()
    assert board(level, SCALE).unscaled == ("x",)


def test_scaled_score_spans_the_worst_to_the_best_of_each_repetition():
    values = scaled(table(SCORES))
    assert values[:, 1, 0].tolist() == [0.0, 1.0, 0.5]
    assert values[:, 0].T.tolist() == [[0.0, 1.0, 0.5], [0.0, 2 / 3, 1.0]]
    moved = scaled(table({("a", "x"): [1.0, 11.0], ("b", "x"): [2.0, 12.0]}))
    assert moved[:, 0].tolist() == [[1, 1], [0, 0]]
    assert scaled(table({("a", "x"): [2.0], ("b", "x"): [2.0]})).ravel().tolist() == [1.0, 1.0]


def test_scaled_score_of_a_failure_or_an_early_end_is_0_next_to_equals_too():
    for direction in ("min", "max"):
        scores = {("a", "x"): [2.0, 3.0, "crash"], ("bad", "x"): ["crash", "timeout", "crash"]}
        found = scaled(table(scores, direction=direction))
        assert found[:, 0].tolist() == [[1, 1, 0], [0, 0, 0]]
    frame = frame_of({(label, "x"): [2.0] for label in ("a", "b", "early")})
    frame.loc[frame["name"] == "early", "complete"] = False
    assert scaled(score_table(as_frame(frame))).ravel().tolist() == [1, 1, 0]


def test_rows_are_ordered_by_mean_rank_then_score_then_cost():
    found = board(SCORES, SCALE)
    assert [each.name for each in found.rows] == ["exhaustive", "chacha", "vanilla"]
    best = found.rows[0]
    assert (best.place, best.rank.value, best.score.value) == (1, 1.25, 1.0)
    assert (best.wins, best.ties, best.losses) == (3, 1, 0)
    assert found.rows[2].place == 3
    assert found.lead.value == pytest.approx(0.25)
    assert found.lead_p == 1.0
    frame = as_frame(
        frame_of({("dear", "x"): [1.0], ("cheap", "x"): [1.0], ("no", "x"): ["skipped"]})
    )
    frame.loc[frame["name"] == "cheap", "cpu_seconds"] = 0.1
    places = [(each.name, each.place) for each in leaderboard(frame).rows]
    assert places == [("cheap", 1), ("dear", 1), ("no", 3)]


def test_the_raw_score_is_shown_only_for_one_dataset():
    one = row(board({key: cells for key, cells in SCORES.items() if key[1] == "x"}), "chacha")
    assert one.raw.value == 2.0
    assert np.isnan(board(SCORES).rows[0].raw.value)


def test_missing_results_are_counted_by_kind():
    found = row(board({**SCORES, ("chacha", "y"): ["crash", "skipped"]}, SCALE), "chacha")
    assert (found.n_ok, found.n_failed, found.n_skipped, found.n_not_done) == (2, 1, 1, 0)
    failures = board({("a", "x"): ["crash"], ("b", "x"): ["skipped"]})
    assert [each.n_ok for each in failures.rows] == [0, 0]
    assert np.isnan(failures.rows[0].score.value)


def test_datasets_marked_meaningless_leave_the_score_but_keep_their_ranks():
    found = board(SCORES, Scale("vanilla", "exhaustive", ("x",)))
    chacha = row(found, "chacha")
    assert (chacha.score.value, chacha.n_ranked, found.unscaled) == (0.5, 2, ("x",))


def test_relative_cost_is_a_geometric_mean_over_datasets():
    frame = as_frame(frame_of(SCORES))
    frame.loc[(frame["name"] == "chacha") & (frame["data"] == "x"), "cpu_seconds"] = 4.0
    rows = leaderboard(frame, SCALE).rows
    assert {each.name: each.relative_cost for each in rows} == pytest.approx(
        {"exhaustive": 1.0, "vanilla": 1.0, "chacha": 2.0}
    )
    assert {each.name: each.cpu_seconds for each in rows}["chacha"] == 2.5


def test_relative_loss_is_over_the_best_baseline_of_each_dataset():
    scores = {("mean", "x"): [4.0], ("mean", "y"): [2.0], ("ridge", "x"): [2.0],
              ("ridge", "y"): [8.0], ("mine", "x"): [1.0], ("mine", "y"): [4.0],
              ("bad", "x"): [1.0], ("bad", "y"): ["crash"]}  # fmt: skip
    found = board(scores, baselines=("mean", "ridge"))
    of = {each.name: each.relative for each in found.rows}
    assert set(found.baselines) == {"mean", "ridge"}
    assert of["mine"].value == pytest.approx(1.0)  # .5 and 2
    assert of["mean"].value == pytest.approx(2**0.5)
    assert of["bad"].value == pytest.approx((0.5 * 4) ** 0.5)  # a failure is the worst of all
    one = board({("mean", "x"): [4.0, 2.0], ("mine", "x"): [1.0, 2.0]}, baselines=("mean",))
    assert row(one, "mine").relative.value == pytest.approx(1.5 / 3.0)


def test_relative_losses_are_of_losses_and_over_baselines_alone():
    ratios = relative_losses(table(SCORES), ["vanilla"])
    assert ratios.mean(axis=2).tolist() == [[1.0, 1.0], [0.5, 0.9], [0.5, 0.95]]
    assert np.isnan(relative_losses(table(SCORES, direction="max"), ["vanilla"])).all()
    without = board(SCORES)
    assert without.baselines == ()
    assert all(np.isnan(each.relative.value) for each in without.rows)


def test_no_loss_at_all_makes_the_geometric_mean_0_and_of_a_baseline_leaves_the_dataset_out():
    def losses(mean, mine):
        scores = {(label, data): [loss] for label, cells in (("mean", mean), ("mine", mine))
                  for data, loss in zip("xy", cells, strict=True)}  # fmt: skip
        found = board(scores, baselines=("mean",))
        return row(found, "mine").relative, found.without_relative

    mine, left_out = losses((0.5, 0.5), (0.0, 5.0))
    assert mine.value == 0.0
    assert left_out == ()
    mine, left_out = losses((0.0, 0.5), (1.0, 5.0))
    assert mine.value == pytest.approx(10)
    assert left_out == ("x",)
