import numpy as np
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.log_format import write_log
from leaseboard.tasks.folder.results import EVENTS, assemble, begin, finish, shown_at
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.score.board import jobs_text
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.leaderboard import leaderboard
from leaseboard.tasks.score.table import FAILED, NOT_RUN, OK, SKIPPED, score_table, significant


def test_means_and_spreads_are_of_finished_repetitions_alone(make_frame):
    table = score_table(as_frame(make_frame({("a", "x"): [1.0, 3.0, "crash"]})))
    assert table.means.tolist() == [[2.0]]
    assert table.sds == pytest.approx(np.array([[np.sqrt(2.0)]]))
    assert table.states.tolist() == [[[OK, OK, FAILED]]]


def test_spread_of_one_repetition_is_unknown(make_frame):
    assert np.isnan(score_table(as_frame(make_frame({("a", "x"): [1.0]}))).sds).all()


def test_loss_ranks_ascending_and_ties_share_their_rank(make_frame):
    scores = {("a", "x"): [1.0], ("b", "x"): [2.0], ("c", "x"): [1.0 + 1e-12], ("d", "x"): [3.0]}
    ranks = score_table(as_frame(make_frame(scores))).ranks()
    assert ranks[:, 0].tolist() == [1.5, 3.0, 1.5, 4.0]


def test_a_score_to_maximise_ranks_descending(make_frame):
    scores = {("a", "x"): [0.7], ("b", "x"): [0.9]}
    assert score_table(as_frame(make_frame(scores, direction="max"))).ranks()[:, 0].tolist() == [
        2,
        1,
    ]


def test_a_failed_repetition_counts_as_the_worst_score_on_that_data_set(make_frame):
    scores = {("a", "x"): [1.0, "timeout"], ("b", "x"): [2.0, 2.5], ("c", "x"): [4.0, 4.0]}
    table = score_table(as_frame(make_frame(scores)))
    assert table.gains[0, 0].tolist() == [-1.0, -4.0]
    assert table.ranks()[:, 0].tolist() == [2.0, 1.0, 3.0]


def test_an_algorithm_without_any_score_ranks_last_alone(make_frame):
    scores = {("a", "x"): ["crash", "memout"], ("b", "x"): [2.0, 2.0], ("c", "x"): [1.0, 1.0]}
    assert score_table(as_frame(make_frame(scores))).ranks()[:, 0].tolist() == [3.0, 2.0, 1.0]


def test_a_skipped_algorithm_is_left_out_of_that_data_set(make_frame):
    scores = {("a", "x"): ["skipped"], ("b", "x"): [2.0], ("a", "y"): [1.0], ("b", "y"): [2.0]}
    table = score_table(as_frame(make_frame(scores)))
    assert np.isnan(table.ranks()[0, 0])
    assert table.ranks()[:, 1].tolist() == [1.0, 2.0]
    assert table.states[0, 0, 0] == SKIPPED


def test_a_data_set_without_any_score_has_no_ranks(make_frame):
    scores = {("a", "x"): ["crash"], ("b", "x"): ["skipped"]}
    assert np.isnan(score_table(as_frame(make_frame(scores))).ranks()).all()


def test_a_job_without_a_row_is_not_run(make_frame):
    table = score_table(as_frame(make_frame({("a", "x"): [1.0, 2.0], ("b", "x"): [1.0]})))
    assert table.states[1, 0].tolist() == [OK, NOT_RUN]


def test_a_metric_beside_the_score_makes_a_table(make_frame):
    frame = as_frame(make_frame({("a", "x"): [1.0]}, metrics={"test": 0.5}))
    assert score_table(frame, "test").scores.tolist() == [[[0.5]]]
    assert score_table(frame, "cpu_seconds").scores.tolist() == [[[1.0]]]
    assert np.isnan(score_table(frame, "unheard of").scores).all()


def test_results_of_two_metrics_cannot_stand_on_one_board(make_frame):
    frame = as_frame(make_frame({("a", "x"): [1.0], ("b", "x"): [2.0]}))
    frame.loc[0, "metric"] = "accuracy"
    with pytest.raises(UsageError, match="accuracy, progressive_mse"):
        score_table(frame)


def test_significant_digits():
    assert significant(np.array([1234567891.4, 0.0, -0.1234567891234])).tolist() == [
        1234567890.0, 0.0, -0.123456789,
    ]  # fmt: skip


def test_a_frame_survives_its_file(make_frame, tmp_path):
    frame = make_frame(
        {("a", "<x>"): [1.0, "crash"]}, metrics={"test": 0.5}, champion={"b": [1, 2]}
    )
    rows = [row | {"score": None} if row["status"] == "crash" else row
            for row in frame.to_dict("records")]  # fmt: skip
    made = [Result(**row) for row in rows]
    for result in made:
        folder = begin(tmp_path, result.key)
        write_log(folder / EVENTS, [])
        finish(tmp_path, result)
    assemble(tmp_path, made)
    back = as_frame(shown_at(tmp_path))
    assert back["metrics"].tolist() == [{"test": 0.5}] * 2
    assert back["champion"].tolist() == [{"b": [1, 2]}] * 2
    assert back["score"].tolist()[0] == 1.0
    assert np.isnan(back["score"].tolist()[1])
    assert not list(tmp_path.glob("*.part"))


def test_two_results_for_one_cell_are_refused(make_frame):
    frame = make_frame({("a", "x"): [1.0, 2.0]})
    frame["repetition"] = 0
    with pytest.raises(UsageError, match="two results for a on x, repetition 0"):
        as_frame(frame)


def test_a_folder_without_results_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"no results at .*results\.parquet"):
        as_frame(shown_at(tmp_path))


def test_who_ended_early_ranks_after_all_that_did_not(make_frame):
    frame = make_frame({("short", "a"): [0.0], ("good", "a"): [1.0], ("bad", "a"): [9.0]})
    frame.loc[frame["label"] == "short", "complete"] = False
    found = leaderboard(frame)

    assert [(row.label, row.place) for row in found.rows] == [
        ("good", 1),
        ("bad", 2),
        ("short", 3),
    ]
    short = found.rows[-1]
    assert (short.n_ok, short.n_early, short.n_jobs) == (0, 1, 1)
    assert np.isnan(short.raw.value)
    assert "0 ok, 1 ended early" in jobs_text(short)


def test_one_early_end_of_two_counts_as_the_worst_score(make_frame):
    frame = make_frame({("short", "a"): [0.0, 2.0], ("good", "a"): [3.0, 3.0]})
    frame.loc[0, "complete"] = False
    table = score_table(frame)

    assert table.gains[0, 0].tolist() == [-3.0, -2.0]
    assert np.isnan(table.scores[0, 0, 0])
