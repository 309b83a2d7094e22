"""The measure of what delay costs, where the answer is known."""

import numpy as np
import pytest

from benchmarks.delays import cost, main
from tests.algorithms.chacha.safe.hard_streams import noise, stream_of


def test_nothing_where_labels_depend_on_features_alone():
    x, _ = noise(3000)
    stream = stream_of(x, x[:, 0] + np.random.default_rng(8).normal(size=3000))
    at_once, later = cost(stream, 0), cost(stream, 100, never=0.1)

    assert later.loss == pytest.approx(at_once.loss, rel=0.1)
    assert later.coverage == pytest.approx(0.9, abs=0.02)
    assert at_once.in_worst_window <= at_once.coverage


def test_what_an_old_label_knows_less():
    walk = np.cumsum(np.random.default_rng(9).normal(size=3000))
    stream = stream_of(noise(3000)[0], walk)

    assert 30 < cost(stream, 100).loss / cost(stream, 0).loss < 300  # 101 steps ahead, not 1


def test_a_row_is_printed_for_each_delay(capsys):
    main(["synthetic:fried?rows=1500&seed=0", "--delays", "0", "10"])

    reported = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[1] for line in reported[1:]] == ["0", "10"]
    assert reported[1].split("  ")[3] == "1.00"
