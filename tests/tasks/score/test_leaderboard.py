import numpy as np
import pytest

from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.leaderboard import leaderboard
from leaseboard.tasks.score.table import normalised, relative_losses, scaled, score_table

SCORES = {
    ("vanilla", "x"): [4.0, 4.0],
    ("exhaustive", "x"): [2.0, 2.0],
    ("chacha", "x"): [3.0, 1.0],
    ("vanilla", "y"): [10.0, 10.0],
    ("exhaustive", "y"): [9.0, 9.0],
    ("chacha", "y"): [9.5, 9.5],
}


def test_normalised_score_is_0_for_vanilla_and_1_for_exhaustive(make_frame):
    values = normalised(score_table(as_frame(make_frame(SCORES))), "vanilla", "exhaustive")
    assert values[0].tolist() == [[0, 0], [0, 0]]
    assert values[1].tolist() == [[1, 1], [1, 1]]
    assert values[2].tolist() == [[0.5, 1.5], [0.5, 0.5]]


def test_normalised_score_has_no_meaning_where_exhaustive_is_not_better(make_frame):
    scores = {("vanilla", "x"): [2.0], ("exhaustive", "x"): [2.0], ("chacha", "x"): [1.0]}
    frame = as_frame(make_frame(scores))
    assert np.isnan(normalised(score_table(frame), "vanilla", "exhaustive")).all()
    assert leaderboard(frame, "vanilla", "exhaustive").unscaled == ("x",)


def test_normalised_score_works_for_a_score_to_maximise(make_frame):
    scores = {("vanilla", "x"): [0.6], ("exhaustive", "x"): [0.8], ("chacha", "x"): [0.75]}
    table = score_table(as_frame(make_frame(scores, direction="max")))
    assert normalised(table, "vanilla", "exhaustive")[2, 0, 0] == pytest.approx(0.75)


def test_scaled_score_spans_the_worst_to_the_best(make_frame):
    values = scaled(score_table(as_frame(make_frame(SCORES))))
    assert values[:, 1, 0].tolist() == [0.0, 1.0, 0.5]
    assert values[:, 0].T.tolist() == [[0.0, 1.0, 0.5], [0.0, 2 / 3, 1.0]]


def test_scaled_score_is_not_moved_by_what_repetitions_do_to_all(make_frame):
    scores = {("a", "x"): [1.0, 11.0], ("b", "x"): [2.0, 12.0]}
    values = scaled(score_table(as_frame(make_frame(scores))))
    assert values[:, 0].tolist() == [[1, 1], [0, 0]]


def test_scaled_score_of_equals_is_1(make_frame):
    table = score_table(as_frame(make_frame({("a", "x"): [2.0], ("b", "x"): [2.0]})))
    assert scaled(table).ravel().tolist() == [1.0, 1.0]


@pytest.mark.parametrize("direction", ["min", "max"])
def test_scaled_score_of_a_failure_is_0_also_where_one_alone_finished(make_frame, direction):
    scores = {("a", "x"): [2.0, 3.0, "crash"], ("bad", "x"): ["crash", "timeout", "crash"]}
    table = score_table(as_frame(make_frame(scores, direction=direction)))
    assert scaled(table)[:, 0].tolist() == [[1, 1, 0], [0, 0, 0]]


def test_scaled_score_of_an_early_end_is_0_beside_equals(make_frame):
    frame = make_frame({(label, "x"): [2.0] for label in ("a", "b", "early")})
    frame.loc[frame["label"] == "early", "complete"] = False
    assert scaled(score_table(as_frame(frame))).ravel().tolist() == [1, 1, 0]


def test_relative_loss_is_the_ratio_of_means(make_frame):
    ratios = relative_losses(score_table(as_frame(make_frame(SCORES))), ["vanilla"])
    assert ratios.mean(axis=2).tolist() == [[1.0, 1.0], [0.5, 0.9], [0.5, 0.95]]


def test_relative_loss_is_not_given_for_accuracies(make_frame):
    table = score_table(as_frame(make_frame(SCORES, direction="max")))
    assert np.isnan(relative_losses(table, ["vanilla"])).all()


def test_rows_are_ordered_by_mean_rank_then_score(make_frame):
    board = leaderboard(as_frame(make_frame(SCORES)), "vanilla", "exhaustive")
    assert [row.label for row in board.rows] == ["exhaustive", "chacha", "vanilla"]
    best = board.rows[0]
    assert (best.place, best.rank.value, best.score.value) == (1, 1.25, 1.0)
    assert (best.wins, best.ties, best.losses) == (3, 1, 0)
    assert board.rows[2].place == 3
    assert board.lead.value == pytest.approx(0.25)
    assert board.lead.lower <= 0.25 <= board.lead.upper


def test_the_raw_score_is_shown_only_for_one_data_set(make_frame):
    one = {key: cells for key, cells in SCORES.items() if key[1] == "x"}
    row = next(r for r in leaderboard(as_frame(make_frame(one))).rows if r.label == "chacha")
    assert (row.raw.value, row.raw.lower, row.raw.upper) == (2.0, 1.0, 3.0)
    assert np.isnan(leaderboard(as_frame(make_frame(SCORES))).rows[0].raw.value)


def test_missing_results_are_counted_by_kind(make_frame):
    scores = {**SCORES, ("chacha", "y"): ["crash", "skipped"]}
    board = leaderboard(as_frame(make_frame(scores)), "vanilla", "exhaustive")
    row = next(r for r in board.rows if r.label == "chacha")
    assert (row.n_ok, row.n_failed, row.n_skipped, row.n_not_run) == (2, 1, 1, 0)


def test_data_sets_marked_meaningless_leave_the_score_but_keep_their_ranks(make_frame):
    board = leaderboard(as_frame(make_frame(SCORES)), "vanilla", "exhaustive", meaningless=("x",))
    row = next(r for r in board.rows if r.label == "chacha")
    assert row.score.value == 0.5
    assert row.n_ranked == 2
    assert board.unscaled == ("x",)


def test_relative_cost_is_a_geometric_mean_over_data_sets(make_frame):
    frame = as_frame(make_frame(SCORES))
    frame.loc[(frame["label"] == "chacha") & (frame["data"] == "x"), "cpu_seconds"] = 4.0
    board = leaderboard(frame, "vanilla", "exhaustive")
    costs = {row.label: row.relative_cost for row in board.rows}
    assert costs == pytest.approx({"exhaustive": 1.0, "vanilla": 1.0, "chacha": 2.0})
    assert {row.label: row.cpu_seconds for row in board.rows}["chacha"] == 2.5


def test_a_board_of_failures_alone_still_stands(make_frame):
    board = leaderboard(as_frame(make_frame({("a", "x"): ["crash"], ("b", "x"): ["skipped"]})))
    assert [row.n_ok for row in board.rows] == [0, 0]
    assert np.isnan(board.rows[0].score.value)


def test_of_equals_the_cheaper_one_stands_first(make_frame):
    frame = as_frame(make_frame({("dear", "x"): [1.0], ("cheap", "x"): [1.0]}))
    frame.loc[frame["label"] == "cheap", "cpu_seconds"] = 0.1
    rows = leaderboard(frame).rows
    assert [(row.label, row.place) for row in rows] == [("cheap", 1), ("dear", 1)]


def test_who_has_no_result_takes_the_last_place(make_frame):
    scores = {("a", "x"): [2.0], ("b", "x"): [1.0], ("c", "x"): ["skipped"]}
    board = leaderboard(as_frame(make_frame(scores)))

    assert [(row.label, row.place) for row in board.rows] == [("b", 1), ("a", 2), ("c", 3)]


def test_relative_loss_is_over_the_best_baseline_of_each_dataset(make_frame):
    scores = {("mean", "x"): [4.0], ("mean", "y"): [2.0], ("ridge", "x"): [2.0],
              ("ridge", "y"): [8.0], ("mine", "x"): [1.0], ("mine", "y"): [4.0],
              ("bad", "x"): [1.0], ("bad", "y"): ["crash"]}  # fmt: skip
    frame = make_frame(scores)
    frame["baseline"] = frame["label"].isin(["mean", "ridge"])
    board = leaderboard(as_frame(frame))
    of = {row.label: row.relative for row in board.rows}

    assert board.baselines == tuple(r.label for r in board.rows if r.label in ("mean", "ridge"))
    assert of["mine"].value == pytest.approx(1.0)  # .5 and 2
    assert of["mean"].value == pytest.approx(2**0.5)
    assert of["bad"].value == pytest.approx((0.5 * 4) ** 0.5)  # a failure is the worst of all
    assert of["mine"].lower == pytest.approx(0.5)
    assert of["mine"].upper == pytest.approx(2.0)


def test_relative_loss_of_one_dataset_is_the_ratio_of_mean_scores(make_frame):
    frame = make_frame({("mean", "x"): [4.0, 2.0], ("mine", "x"): [1.0, 2.0]})
    frame["baseline"] = frame["label"] == "mean"
    mine = next(row for row in leaderboard(as_frame(frame)).rows if row.label == "mine")
    assert mine.relative.value == pytest.approx(1.5 / 3.0)


def test_without_a_baseline_there_is_no_relative_loss(make_frame):
    board = leaderboard(as_frame(make_frame(SCORES)))
    assert board.baselines == ()
    assert all(np.isnan(row.relative.value) for row in board.rows)


def test_no_loss_at_all_on_one_dataset_makes_the_geometric_mean_0(make_frame):
    scores = {
        ("mean", "x"): [0.5],
        ("mean", "y"): [0.5],
        ("mine", "x"): [0.0],
        ("mine", "y"): [5.0],
    }
    frame = make_frame(scores)
    frame["baseline"] = frame["label"] == "mean"
    board = leaderboard(as_frame(frame))
    mine = next(row for row in board.rows if row.label == "mine").relative

    assert (mine.value, mine.lower, mine.upper) == (0.0, 0.0, pytest.approx(10.0))
    assert board.without_relative == ()


def test_datasets_whose_best_baseline_has_no_loss_are_named(make_frame):
    scores = {
        ("mean", "x"): [0.0],
        ("mean", "y"): [0.5],
        ("mine", "x"): [1.0],
        ("mine", "y"): [5.0],
    }
    frame = make_frame(scores)
    frame["baseline"] = frame["label"] == "mean"
    board = leaderboard(as_frame(frame))

    assert board.without_relative == ("x",)
    assert next(row for row in board.rows if row.label == "mine").relative.value == pytest.approx(
        10
    )
