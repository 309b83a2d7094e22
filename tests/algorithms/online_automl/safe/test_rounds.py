"""Bounds of a champion and of its challengers, and what is decided at the end of a round."""

import numpy as np
import pytest

from leaseboard.algorithms.online_automl.race import EMPTY
from leaseboard.algorithms.online_automl.safe.rounds import (
    AMOUNT,
    ELIMINATE,
    EXTEND,
    KIND,
    NO_CHANGE,
    NUMBER,
    PAUSE,
    REPORT,
    SLOT,
    START,
    TOO_LARGE,
    Candidates,
    RoundTable,
)
from leaseboard.algorithms.online_automl.safe.windows import critical_value

CHAMPION = np.array([1.0, 3.0, 1.0, 3.0])
CHALLENGER = np.array([2.0, 4.0, 2.0, 4.0])


def table_of(holders, sums, *, sizes=(1.0,) * 9):
    """Return slots that went live after one example, of whose windows four have passed."""
    b, candidates = len(holders), Candidates()
    candidates.measure(sizes)
    fresh, leases, reported, starts = np.zeros((4, b), dtype=np.int64)
    fresh += 1
    terms = np.array([0 if number == EMPTY else int(sizes[number]) for number in holders])
    return RoundTable(
        np.array(holders), terms, fresh, leases + 9, reported, starts, np.array(sums, float),
        candidates.table, candidates.sizes, candidates.queue,
        np.zeros((5 * b, 4), dtype=np.int64), np.zeros((5 * b, 3)), 4, 0.1,
    ), candidates  # fmt: skip


@pytest.fixture
def table():
    """Return two slots that have seen four examples; the champion is in slot 0."""
    sums = []
    for losses in (CHAMPION, CHALLENGER):
        gains = CHAMPION - losses
        sums.append((gains.sum(), (gains**2).sum(), losses.sum(), (losses**2).sum()))
    return table_of([7, 8], sums)[0]


def bounds(table):
    """Return configuration, examples, mean loss and bounds of both slots."""
    n = table.report_live(0, 4)
    assert (table.decided[:n, KIND] == REPORT).all()
    return [
        (row[NUMBER], row[AMOUNT], *values)
        for row, values in zip(table.decided[:n], table.values[:n], strict=True)
    ]


def end(table, candidates, *, most=600.0, at=4):
    """End a round; return kind, slot, number and amount of each decision, and what came of it."""
    lost = np.arange(10.0)
    n, best = table.end_round(0, at, 5, most, lost, False)
    assert table.decided[:n, SLOT].max(initial=0) < len(table.holders)
    return [tuple(row) for row in table.decided[:n].tolist()], best


def test_a_challengers_radius_is_that_of_its_difference(table):
    _, (number, units, value, lower, upper) = bounds(table)
    z = critical_value(1, 1, 0.1)

    assert (number, value, units) == (8, 3.0, 3)
    assert upper - value == pytest.approx(z * np.sqrt(4 * 1.0) / 4)
    assert value - lower == pytest.approx(upper - value)


def test_a_champions_radius_is_that_of_its_own_loss_around_its_mean(table):
    (_, _, value, lower, upper), _ = bounds(table)
    z = critical_value(1, 1, 0.1)

    assert value == 2.0
    assert upper - value == pytest.approx(z * np.sqrt(4 * 1.0) / 4)
    assert 0.0 <= lower < value


def test_a_loss_that_never_varies_is_certain(table):
    table.sums[0] = 0.0, 0.0, 4 * 2.0, 4 * 4.0
    (_, _, value, lower, upper), _ = bounds(table)

    assert lower == value == upper == 2.0


def test_bounds_are_reported_once_after_an_example(table):
    assert len(bounds(table)) == 2
    assert bounds(table) == []


def test_ended_leases_are_doubled_or_make_room():
    """Slot 0 is the initial configuration and the champion; 5, 6 and 7 wait, 6 is too large."""
    sums = np.zeros((5, 4))
    sums[:, 0], sums[:, 1] = (0.0, 5.0, -1.0, 2.0, 0.0), 9.0
    sizes = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 99.0, 1.0)
    table, candidates = table_of([0, 1, 2, 3, EMPTY], sums, sizes=sizes)
    candidates.join([5, 6, 7], table.holders)
    table.candidates[2, 0] = 1  # of the frontier
    table.leases[[2, 3]] = 4
    made, best = end(table, candidates, most=20.0)

    assert best == NO_CHANGE
    kinds = [(kind, slot, number) for kind, slot, number, _ in made]
    assert kinds == [
        (REPORT, 2, 2), (REPORT, 3, 3), (PAUSE, 2, 2), (EXTEND, 3, 3), (START, 2, 5),
        (START, 4, 7),
    ]  # fmt: skip
    assert table.holders.tolist() == [0, 1, 5, 3, 7]
    assert candidates.waiting == [6, 2]
    assert (table.leases[3], candidates.table[2].tolist()) == (8, [1, 0, 8])


def test_what_is_worse_leaves_for_good_while_others_wait():
    sums = np.zeros((3, 4))
    sums[:, 0], sums[:, 1] = (0.0, -90.0, 0.0), 9.0
    table, candidates = table_of([0, 1, 2], sums)
    assert end(table, candidates) == ([], NO_CHANGE)
    candidates.join([5], table.holders)
    made, _ = end(table, candidates)

    kinds = [(kind, slot, number) for kind, slot, number, _ in made]
    assert kinds == [(REPORT, 1, 1), (REPORT, 0, 0), (ELIMINATE, 1, 1), (START, 1, 5)]
    candidates.join([1], table.holders)
    assert candidates.waiting == []


def test_nothing_is_decided_where_one_is_better_or_all_are_too_large():
    sums = np.zeros((2, 4))
    sums[:, 0], sums[:, 1] = (0.0, 90.0), 9.0
    table, candidates = table_of([0, 1], sums)

    assert end(table, candidates) == ([], 1)
    assert end(table, candidates, most=1.0) == ([], TOO_LARGE)


def test_candidates_go_on_from_their_state():
    candidates, other = Candidates(), Candidates()
    for each in (candidates, other):
        each.measure([1.0] * 5)
    candidates.join([3, 1, 4, 3], np.array([EMPTY, 4]))
    candidates.table[2] = 0, 1, 40
    other.fill(candidates.state())

    assert candidates.state() == {
        "frontier": {1, 3, 4}, "pending": [3, 1], "eliminated": {2}, "leases": {2: 40},
    }  # fmt: skip
    assert other.state() == candidates.state()
