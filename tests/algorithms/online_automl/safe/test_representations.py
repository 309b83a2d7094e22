"""The names of what models may see, and which of it a champion's challengers do."""

from dataclasses import replace

from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.online_automl.safe.representations import represent

TWO = Schema(("a", "b"), ((0,), (1, 2)), ("x", "y", "z"))


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
