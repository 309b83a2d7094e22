"""Pairs of neighbouring words as base variables."""

import numpy as np

from leaseboard.algorithms.apple.apple import Apple, Polynomial
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.holdout import Holdout, HoldoutEnvironment, Part

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
