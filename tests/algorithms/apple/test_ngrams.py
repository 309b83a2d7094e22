"""Pairs of neighbouring words as base features."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from leaseboard.algorithms.apple.apple import Apple, Polynomial
from leaseboard.algorithms.apple.rows import with_bigrams
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.holdout import Holdout, HoldoutEnvironment, Part
from leaseboard.algorithms.errors import SkipError
from leaseboard.algorithms.testing import parity

WORDS = ("not", "good", "bad", "at", "all")


def part(texts, labels):
    tokens = tuple(np.array(text, dtype=np.int32) for text in texts)
    counts = np.array([np.bincount(text, minlength=5) for text in tokens], dtype=np.float32)
    return Part(sparse.csr_array(counts), np.array(labels, dtype=np.float32), tokens)


def reviews(n=400, seed=0):
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        negated, praised = rng.integers(0, 2, 2)
        text = [1 if praised else 2, 3, 4]
        texts.append([0, *text] if negated else [*text, 0])
        labels.append(1 if praised != negated else -1)
    cut = n * 3 // 4
    train, test = part(texts[:cut], labels[:cut]), part(texts[cut:], labels[cut:])
    return HoldoutEnvironment(Holdout(train, test, WORDS, "classification"))


def test_pairs_of_the_training_texts_are_counted_and_named():
    train = part([[0, 1, 0, 1], [2], []], [1, 1, 1])
    test = part([[1, 0, 2], [0, 1]], [1, 1])

    base = with_bigrams(Holdout(train, test, WORDS))

    assert list(base.names) == [*WORDS, "not_good", "good_not"]
    assert base.names[5:] == ["not_good", "good_not"]
    assert base.train.toarray()[:, 5:].tolist() == [[2, 1], [0, 0], [0, 0]]
    assert base.test.toarray()[:, 5:].tolist() == [[0, 1], [1, 0]]
    assert base.train.toarray()[:, :5].tolist() == train.rows.toarray().tolist()


def test_words_next_to_an_unknown_one_make_no_pair():
    train = part([[0, 4], [1, 2]], [1, 1])  # 0 * 5 + 4 would be 1 * 5 - 1, too
    test = Part(train.rows[:1], train.labels[:1], (np.array([1, -1, 1, 2, -1], dtype=np.int32),))

    base = with_bigrams(Holdout(train, test, WORDS))

    assert base.names[5:] == ["not_all", "good_bad"]
    assert base.test.toarray()[:, 5:].tolist() == [[0, 1]]


def test_order_of_words_is_what_bigrams_see_and_words_do_not():
    def score(algorithm):
        return list(play("it", algorithm, reviews(), 0))[-1].score

    assert score(Polynomial(base="bigram")) == 0
    assert score(Polynomial()) > 0.2


def test_apple_grows_from_pairs_and_names_them():
    events = list(play("it", Apple(base="bigram"), reviews(), 0))
    parents = [name for event in events if hasattr(event, "parents") for name in event.parents]

    assert any("not_good" in name or "not_bad" in name for name in parents)


def test_numbers_have_no_neighbours():
    with pytest.raises(SkipError, match="bigrams need text"):
        list(play("bigram", Polynomial(base="bigram"), parity(20), 0))
