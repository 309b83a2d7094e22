"""Configurations are reported in the names of columns, for any names."""

import json
from dataclasses import replace
from itertools import combinations, pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from leaseboard.algorithms.environments.stream import Origin
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.online_automl.safe.naming import Words
from leaseboard.algorithms.online_automl.safe.representations import represent

ODD = ("a × b", "a, b", "3 more", "", " ", "day: hour", "x (2)", "last 3 labels", "a\nb", "<b>",
       "\x1b[3m", "\u202egpj.exe", "'", 'it\'s "so"', "raw", "wind binned", "\ud800", "温度",
       "x" * 99,
       "x" * 98 + "y", "x" * 21 + "…" + "x" * 10, "temperature", "a=b")  # fmt: skip


def words(*groups, called=None):
    """Return the words of a schema with the columns of `groups`, each a namespace."""
    names = [name for group in groups for name in group]
    ends = [sum(map(len, groups[:k])) for k in range(len(groups) + 1)]
    schema = Schema(
        namespaces=tuple("abcdefghijklmnopqrstuvwxyz"[: len(groups)]),
        columns=tuple(tuple(range(*pair)) for pair in pairwise(ends)),
        features=tuple(map(str, range(len(names)))),
        origins=tuple(name if isinstance(name, Origin) else Origin(name) for name in names),
        called=called or {},
    )
    return Words(schema, represent(schema)), represent(schema)


def test_what_a_configuration_has_is_reported_in_words():
    reported, known = words(["temperature"], ["office hours", "wind"], ["a", "b", "c", "d"])
    names = (*known.standard, known.last, known.season)
    pairs = ("a:", "b:"), ("c:", "b:"), ("a:", known.last)

    assert reported.parameters(VWConfiguration(pairs, 0.25, names)) == {
        "interactions": [
            "temperature × last 3 labels",
            "temperature × (office hours, wind)",
            "(office hours, wind) × (a, b, 2 more)",
        ],
        "features": "standardised, last 3 labels, seasonal lag",
        "learning_rate": 0.25,
    }
    assert reported.groups == {"a, b, 2 more": ["a", "b", "c", "d"]}


names = st.lists(st.one_of(st.sampled_from(ODD), st.text(max_size=40)), min_size=2, max_size=12)


@given(names.map(lambda listed: list(dict.fromkeys(listed))), st.integers(1, 5))
@example(["x" * 99, "x" * 98 + "y", "x" * 50 + "z" + "x" * 48], 1)
@settings(deadline=None, max_examples=60)
def test_no_two_configurations_are_reported_alike(listed, size):
    reported, known = words(*(listed[k : k + size] for k in range(0, len(listed), size)))
    plain = VWConfiguration((), 0.5, known.raw)
    pairs = [replace(plain, interactions=(pair,)) for pair in combinations(known.raw, 2)]
    every = {plain, *pairs, *known.variants(plain)}
    for pair in pairs[:2]:
        every |= {*known.variants(pair)}

    assert len({json.dumps(reported.parameters(one)) for one in every}) == len(every)
    assert all(title.isprintable() for title in reported.groups)
    for listing in reported.groups.values():
        assert len({*listing}) == len(listing)
