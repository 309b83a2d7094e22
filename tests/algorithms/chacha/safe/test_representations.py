"""The names of what models may see, and which of it a champion's challengers do."""

from algorithms.chacha.safe.front import N_PAST
from algorithms.chacha.safe.representations import represent
from algorithms.online.configuration import VWConfiguration
from algorithms.online.schema import Schema

TWO = Schema(("a", "b"), ((0,), (1, 2)), ("x", "y", "z"))


def test_the_wide_schema_names_every_representation():
    found = represent(TWO)

    assert found.schema.namespaces == ("a", "b", "a:", "b:", ":last", ":season")
    assert found.schema.columns == ((7,), (8, 9), (4,), (5, 6), (0, 1, 2), (3,))
    assert found.schema.n_features == N_PAST + 2 * 3
    assert (found.raw, found.standard) == (("a", "b"), ("a:", "b:"))
    assert (found.last, found.season) == (":last", ":season")


def test_names_that_are_taken_are_told_apart():
    """Of a user's namespaces none has a colon, `FeatureMap` sees to it."""
    found = represent(Schema(("a", "last", "season"), ((0,), (1,), (2,)), ("x", "y", "z")))
    names = found.schema.namespaces

    assert len(set(names)) == len(names) == 8
    assert not {found.last, found.season, *found.standard} & {"a", "last", "season"}


def test_variants_are_raw_or_standardised_with_more_and_less_of_the_past():
    champion = VWConfiguration((("a", "b"), ("a", ":last")), 0.5, ("a", "b", ":last"))
    variants = represent(TWO).variants(champion)

    at_rate = [one for one in variants if one.learning_rate == 0.5][2:]
    assert [(one.namespaces, one.interactions) for one in at_rate] == [
        (("a:", "b:"), (("a:", "b:"),)),
        ((":last", "a:", "b:"), ((":last", "a:"), ("a:", "b:"))),
        ((":last", ":season", "a:", "b:"), ((":last", "a:"), ("a:", "b:"))),
        (("a", "b"), (("a", "b"),)),
        ((":last", ":season", "a", "b"), ((":last", "a"), ("a", "b"))),
    ]
    assert {one.learning_rate for one in variants} == {0.0625, 0.5, 4.0}
    assert champion not in variants
    assert len(variants) == 17
    assert variants[12:] == at_rate


def test_variants_have_a_namespace_that_the_champion_does_not_know_yet():
    champion = VWConfiguration((), 0.5, ("a",))
    own = VWConfiguration((), 0.5, ("a", "b"))

    assert own in represent(TWO).variants(champion)


def test_variants_with_all_pairs_have_the_squares_and_no_past():
    champion = VWConfiguration((("a", "b"),), 0.5, ("a", "b", ":last"))
    whole = represent(TWO).variants(champion)[10:12]

    assert whole == [
        VWConfiguration((("a:", "a:"), ("a:", "b:"), ("b:", "b:")), 0.5, ("a:", "b:")),
        VWConfiguration((("a", "a"), ("a", "b"), ("b", "b")), 0.5, ("a", "b")),
    ]
