"""apple: its formulae by hand, its fall-back, pairs of words, numbers beyond float32."""

import math
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from leaseboard.algorithms import seeds
from leaseboard.algorithms.apple.apple import Apple, Polynomial, epoch_ends, expansion_size
from leaseboard.algorithms.apple.learner import HashedLearner, PlanLearner
from leaseboard.algorithms.apple.rows import Examples
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.holdout import Holdout, HoldoutEnvironment, Part
from tests.algorithms.played import audited


def env(x, y, test=None, **options):
    train, held_out = Part(x, y), Part(*(test or (x, y)))
    names = tuple(f"x{i + 1}" for i in range(x.shape[1]))
    return HoldoutEnvironment(Holdout(train, held_out, names), **options)


run = partial(audited, "apple")


def parity(seed, rows=20_000, variables=10, order=3):
    """Return random signs; the label is the product of the first `order` of them."""
    signs = seeds.generator(seed, "parity").integers(0, 2, (rows + rows // 4, variables))
    x = (2 * signs - 1).astype("float32")
    y = x[:, :order].prod(axis=1)
    train, test = Part(x[:rows], y[:rows]), Part(x[rows:], y[rows:])
    names = tuple(f"x{i + 1}" for i in range(variables))
    return HoldoutEnvironment(Holdout(train, test, names, "classification"))


def test_fallback_finds_parity_where_the_weights_do_not():
    settings = {"alpha": 0.29, "epochs": 40, "learning_rate": 0.5}  # two parents an epoch

    plain, safe = (
        [run(Apple(fallback=f, **settings), parity(s))[-1].score for s in range(2)]
        for f in (False, True)
    )

    assert min(plain) > 0.4
    assert safe == [0, 0]


@pytest.mark.parametrize("kernel", ["plan", "hashed"])
@pytest.mark.parametrize("unit", [1e30, 1e-30])
def test_powers_that_leave_float32_are_learned_all_the_same(kernel, unit):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (3000, 3))
    y = (x[:, 0] * x[:, 1] * x[:, 2]).astype(np.float32)
    huge, usual = ((x * scale).astype(np.float32) for scale in (unit, 1))

    form = np.asarray if kernel == "plan" else sparse.csr_array
    scores = [run(Apple(), env(form(rows), y))[-1].score for rows in (huge, usual)]

    assert scores[0] == pytest.approx(scores[1], rel=1e-3)


WORDS = ("not", "good", "bad", "at", "all")


def part(labels, *texts):
    found = [" ".join(row).split() for row in texts]
    counts = np.float32([[row.count(word) for word in WORDS] for row in found])
    return Part(counts, np.float32(labels), texts)


def test_bigrams_see_the_order_of_words_and_apple_grows_from_them():
    rng = np.random.default_rng(0)
    negated, praised = rng.integers(0, 2, (2, 400)).astype(bool)
    bodies = np.where(praised, "good at all", "bad at all").tolist()
    texts = [(f"not {b}" if n else f"{b} not",) for n, b in zip(negated, bodies, strict=True)]
    labels = np.where(praised != negated, 1, -1)
    parts = (part(labels[i], *texts[i]) for i in (slice(300), slice(300, None)))
    reviews = Holdout(*parts, WORDS, "classification")

    def events(algorithm):
        return list(play("it", algorithm, HoldoutEnvironment(reviews), 0))

    grown = events(Apple(base="bigram"))
    assert any("not_" in str(getattr(event, "parents", ())) for event in grown)
    scores = [events(each)[-1].score for each in (Polynomial(base="bigram"), Polynomial())]
    assert scores[0] == 0
    assert scores[1] > 0.2


KERNELS = [PlanLearner, HashedLearner]


def test_epochs_end_where_the_paper_has_them():
    assert epoch_ends(12) == (2, 4, 6, 8, 10)
    assert epoch_ends(13) == (3, 5, 7, 9, 11)
    assert epoch_ends(100, 1) == ()
    assert epoch_ends(3) == (1, 2)


@pytest.mark.parametrize(
    ("s", "parents"),
    [
        (3.95, [1, 1, 1, 2, 3]),  # skin: the paper's three columns of small alpha are equal
        (16.58, [1, 2, 4, 8, 16]),  # letter: its first two are not
        (1.0, [1, 1, 1, 1, 1]),
    ],
)
def test_sizes_count_the_constant(s, parents):
    assert [expansion_size(s, alpha) for alpha in (0.125, 0.25, 0.5, 0.75, 1)] == parents


def test_the_first_step_by_hand():
    """One feature x = 2 and the constant, y = 1, rate 0.5: N = 2, 1; G = 4 x^2; z = 1 for both.

    ppu = 2 / sqrt(4) = 1, mu = sqrt(1 / 2), so the step is (1 - exp(-mu)) / mu * mu.
    """
    step = 1 - math.exp(-math.sqrt(0.5))
    for kernel in KERNELS:
        learner = kernel(np.ones(1), 0.5)
        learner.learn(Examples(np.float32([[2]]), np.float32([[1]])))
        assert learner.predict(np.float32([[2]]))[0] == pytest.approx(step)
