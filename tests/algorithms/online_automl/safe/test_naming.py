"""Configurations are reported in the names of columns."""

from itertools import pairwise

from leaseboard.algorithms.online.schema import Origin, Schema, VWConfiguration
from leaseboard.algorithms.online_automl.safe.representations import Words, represent


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
    reported, known = words(["temp: °C"], ["office hours", "wind"], ["a", "b", "c", "d"])
    names = (*known.standard, known.last, known.season)
    pairs = ("a:", "b:"), ("c:", "b:"), ("a:", known.last)

    assert reported.parameters(VWConfiguration(pairs, 0.25, names)) == {
        "interactions": [
            "temp: °C × last 3 labels",
            "temp: °C × (office hours, wind)",
            "(office hours, wind) × (a … d)",
        ],
        "features": "standardised, last 3 labels, seasonal lag",
        "learning_rate": 0.25,
    }
