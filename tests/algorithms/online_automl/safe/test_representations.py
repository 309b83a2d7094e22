"""The names of what models may see, and which of it a champion's challengers do."""

import math
from dataclasses import replace
from itertools import combinations_with_replacement

import pytest

from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.online_automl.safe.expansion import NARROW, width
from leaseboard.algorithms.online_automl.safe.representations import GROUPS, represent

TWO = Schema(("a", "b"), ((0,), (1, 2)), ("x", "y", "z"))


def test_the_wide_schema_names_every_representation():
    found = represent(TWO)

    names = ("a", "b", "a:", "b:", "a:^", "b:^", ":last", ":season")
    assert found.schema.namespaces == names
    in_pieces = (tuple(range(10, 15)), tuple(range(15, 25)))
    assert found.schema.columns == ((7,), (8, 9), (4,), (5, 6), *in_pieces, (0, 1, 2), (3,))
    assert found.schema.n_features == width(3)
    assert (found.raw, found.standard) == (("a", "b"), ("a:", "b:"))
    assert found.pieces == ("a:^", "b:^")
    assert (found.last, found.season) == (":last", ":season")
    assert [*found.sizes.values()] == [1, 2, 1, 2, 2, 4, 3, 1]


def test_names_that_are_taken_are_distinguished():
    """Of a user's namespaces none has a colon, `FeatureMap` sees to it."""
    found = represent(Schema(("a", "last", "season"), ((0,), (1,), (2,)), ("x", "y", "z")))
    names = found.schema.namespaces

    assert len(set(names)) == len(names) == 11
    assert not {found.last, found.season, *found.standard, *found.pieces} & {"a", "last", "season"}


@pytest.mark.parametrize("n_features", [NARROW, NARROW + 1])
def test_of_many_features_challengers_see_the_selected_ones(n_features):
    names = tuple(str(column) for column in range(n_features))
    wide = Schema(("a", "b"), ((*range(1, n_features),), (0,)), names)
    found = represent(wide)
    variants = found.variants(VWConfiguration((("a", "b"),), 0.5, ("a", "b")))

    assert found.schema.n_features == width(n_features)
    assert {*range(found.schema.n_features)} == {c for cs in found.schema.columns for c in cs}
    assert any("a:^" in (one.namespaces or ()) for one in variants)
    few = n_features <= NARROW
    assert len(found.selected) == (0 if few else GROUPS)
    assert sum(found.counts[name] for name in found.selected) == (0 if few else NARROW)
    own = found.standard if few else found.selected
    crossed = [("a:", "b:")] if few else []
    kept = [one for one in variants if {*one.namespaces} == {*own} and one.learning_rate == 0.5]
    assert [list(one.interactions) for one in kept][1:] == [crossed]
    assert not few or not any(":0" in one.namespaces for one in variants)


def test_pieces_keep_their_place_in_vws_table_when_features_come():
    few = represent(Schema(("a",), ((0, 1),), ("x", "y"))).schema
    more = represent(Schema(("a", "b"), ((0, 1), (2,)), ("x", "y", "z"))).schema

    assert [few.indices()[column] for column in few.columns[2]] == [
        more.indices()[column] for column in more.columns[4]
    ]


def test_terms_are_what_is_not_zero_at_a_time():
    found = represent(TWO)
    own = VWConfiguration((("a:^", "b:^"), ("b:", "b:")), 0.5, ("a:", "b:", "a:^", "b:^"))

    assert found.terms(own) == 1 + (1 + 2 + 2 + 4) + 2 * 4 + 3


def test_what_no_layout_takes_has_no_end_of_terms():
    names = tuple(str(column) for column in range(400))
    found = represent(Schema(("a",), (tuple(range(400)),), names))

    assert found.terms(VWConfiguration((("a", "a"),))) == math.inf
    assert found.terms(VWConfiguration((("a", ":last"),))) == 1 + 400 + 1200


def test_variants_are_of_each_kind_with_more_and_less_of_the_past():
    champion = VWConfiguration((("a", "b"), ("a", ":last")), 0.5, ("a", "b", ":last"))
    variants = represent(TWO).variants(champion)

    own = ("a:", "a:^", "b:", "b:^")
    in_pieces, others, whole, rest = variants[:4], variants[4:14], variants[14:16], variants[16:]
    assert [(one.namespaces, one.interactions) for one in (*in_pieces[1:], *rest)] == [
        (own, (("a:", "b:"),)),
        ((":last", *own), ((":last", "a:"), ("a:", "b:"))),
        ((":last", ":season", *own), ((":last", "a:"), ("a:", "b:"))),
        (("a:", "b:"), (("a:", "b:"),)),
        ((":last", "a:", "b:"), ((":last", "a:"), ("a:", "b:"))),
        ((":last", ":season", "a:", "b:"), ((":last", "a:"), ("a:", "b:"))),
        (("a", "b"), (("a", "b"),)),
        ((":last", ":season", "a", "b"), ((":last", "a"), ("a", "b"))),
    ]
    assert [one.learning_rate for one in others] == [0.0625] * 5 + [4.0] * 5
    assert [replace(one, learning_rate=0.5) for one in others] == 2 * rest
    assert {one.learning_rate for one in (*in_pieces, *whole, *rest)} == {0.5}
    assert champion not in variants


def test_what_a_variant_without_pieces_leaves_out():
    own = ("a:", "b:", "a:^", "b:^")
    champion = VWConfiguration((("a:^", "b:"), ("a:", "b:")), 0.5, own)
    variants = represent(TWO).variants(champion)

    assert VWConfiguration((("a:^", "b:"), ("a:", "b:")), 0.5, (*own, ":last")) in variants
    assert VWConfiguration((("a:", "b:"),), 0.5, ("a:", "b:")) in variants
    assert VWConfiguration((("a", "b"),), 0.5, ("a", "b")) in variants


def test_variants_with_all_pairs_have_the_squares_and_no_past():
    champion = VWConfiguration((("a", "b"),), 0.5, ("a", "b", ":last"))
    variants = represent(TWO).variants(champion)

    own = ("a:", "a:^", "b:", "b:^")
    assert [variants[0], *variants[14:16]] == [
        VWConfiguration((*combinations_with_replacement(own, 2),), 0.5, own),
        VWConfiguration((("a:", "a:"), ("a:", "b:"), ("b:", "b:")), 0.5, ("a:", "b:")),
        VWConfiguration((("a", "a"), ("a", "b"), ("b", "b")), 0.5, ("a", "b")),
    ]
