"""Which rows are trained on, which are tested on: one answer for probes, calls and models."""

import numpy as np
import pytest

from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.evaluate.probes.sampled import split
from leaseboard.tasks.evaluate.probes.split import Shuffled
from leaseboard.tasks.fetch import load

DATA = "synthetic:waveform?rows=300"


def of(n_rows, seed, make=None):
    return Shuffled(digest="d", n_rows=n_rows, seed=seed, test_fraction=0.2, make=make)


@pytest.mark.parametrize(("n_rows", "n_test"), [(3, 1), (10, 2), (17, 3)])
def test_every_row_is_trained_or_tested_on_once(n_rows, n_test):
    divided = of(n_rows, 0)
    train, test = divided.rows()

    assert (len(train), len(test)) == (divided.train_rows, divided.test_rows)
    assert len(test) == n_test
    assert sorted([*train, *test]) == list(range(n_rows))


def test_the_order_is_that_of_the_stored_probes():
    order = generator(7, "samples", "order").permutation(50)

    assert np.concatenate(of(50, 7).rows()).tolist() == order.tolist()
    assert of(50, 7).identity == "d/7/0.2"


def test_the_array_holds_the_rows_that_are_named():
    data = load(DATA)
    divided = split(data, 3, 0.2)
    train, test = divided.rows()
    codes = data.target.cat.codes.to_numpy()

    assert divided.samples.train(1000)[1][: len(train)].tolist() == codes[train].tolist()
    assert divided.samples.test(1000)[1].tolist() == codes[test].tolist()
