"""The kernel's progressive predictions equal those of the installed wheel, bit for bit.

So do those of a model between others; a branch goes its own way.
"""

import numpy as np
import pytest
import vowpalwabbit
from hypothesis import given, settings
from hypothesis import strategies as st

from leaseboard.algorithms.online.kernel import LOSSES, SQUARED, KernelModels
from leaseboard.algorithms.online.schema import Schema, VWConfiguration, generated, hash_name
from leaseboard.algorithms.reference.libraries import OPTIONS, Wheel, text_line
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.preprocess.encoding import as_stream

WHEEL = f"vowpalwabbit {vowpalwabbit.__version__}"

GROUPS = Schema(("a", "b", "c", "d"), ((0, 1), (2,), (3, 4), (5,)), tuple("012345"))


class ConfiguredWheel(Wheel):
    """Workspace of a configuration."""

    def __init__(self, schema, configuration, options=(), n_classes=0):
        super().__init__(schema, [*command_options(schema, configuration), *options], n_classes)

    def learn(self, row, label, importance):
        """Learn one example; return what was predicted before."""
        said = f"{float(np.float32(label)).hex()} {float(np.float32(importance)).hex()}"
        return self._pass(f"{said} {text_line(self.schema, row.tolist())}", learns=True)


def command_options(schema, configuration):
    """Return VW's options for `configuration`, as tokens.

    VW's ``--interactions`` names namespaces by their first letters. If that is not enough to
    distinguish them, ``--experimental_full_name_interactions`` is used.
    """
    tokens = ["--learning_rate", repr(configuration.learning_rate)]
    units = sorted(generated(each, schema.full_names) for each in configuration.interactions)
    for _, interaction in units:
        if schema.full_names:
            tokens += ["--experimental_full_name_interactions", "|".join(interaction)]
        else:
            tokens += ["--interactions", "".join(name[0] for name in interaction)]
    return tokens


def pool_of(schema, configurations, loss=SQUARED):
    models = KernelModels(schema, len(configurations), loss)
    for slot, configuration in enumerate(configurations):
        models.start(slot, configuration)
    return models


def learned(models, features, labels, importances=None):
    """Return what the models predict as they learn a block, shape (n_examples, n_slots)."""
    weights = np.ones_like(labels) if importances is None else importances
    found = np.empty((len(labels), models.n_slots), dtype=np.float32)
    models.learn_many(np.ascontiguousarray(features), labels, weights, found)
    return found


def both(schema, configuration, features, labels, task="regression"):
    """Return what a model of the kernel, between two others, and of the wheel predict."""
    wheel = ConfiguredWheel(schema, configuration, OPTIONS[task])
    other = VWConfiguration((schema.namespaces[:2],), 2.0)
    models = pool_of(schema, [other, configuration, other], LOSSES[task])
    return learned(models, features, labels)[:, 1], wheel.learn_many(features, labels)


def assert_identical(kernel, wheel):
    differing = np.flatnonzero(kernel.view(np.int32) != wheel.view(np.int32))
    assert not len(differing), (
        f"{WHEEL} differs from the kernel in {len(differing)} predictions,"
        f" first at {differing[0]}: {wheel[differing[0]]!r} against {kernel[differing[0]]!r}"
    )


def random_stream(seed, n=600, d=6):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, d)).astype(np.float32) * np.float32(10) ** rng.integers(
        -3, 4, d
    )
    features[rng.random((n, d)) < 0.2] = 0
    labels = (features @ rng.normal(size=d) * 0.01 + rng.normal(size=n)).astype(np.float32)
    return features.astype(np.float32), labels


def classes(labels):
    return np.where(labels > 0, 1, -1).astype(np.float32)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_identical_with_importances_and_in_every_cell(task):
    configuration = VWConfiguration((("a", "b"), ("b", "d")), 0.7)
    features, labels = random_stream(seed=1)
    importances = np.random.default_rng(1).exponential(size=len(labels)).astype(np.float32)
    importances[::7] = 0
    labels = classes(labels) if task == "classification" else labels
    wheel = ConfiguredWheel(GROUPS, configuration, OPTIONS[task])
    examples = zip(features, labels.tolist(), importances.tolist(), strict=True)
    models = pool_of(GROUPS, [configuration], LOSSES[task])
    kernel = learned(models, features, labels, importances)[:, 0]
    found = np.array([wheel.learn(*example) for example in examples], dtype=np.float32)
    at = wheel.workspace.get_weight
    cells = [[at(index, k) for k in range(4)] for index in models.layouts[0].indices.tolist()]

    assert_identical(kernel, found)
    assert models.state(0)["table"].tolist() == cells


def test_identical_when_hashes_collide():
    crowded = Schema(GROUPS.namespaces, GROUPS.columns, GROUPS.features, bits=2)
    configuration = VWConfiguration((("a", "c"), ("a", "b", "d")))
    assert_identical(*both(crowded, configuration, *random_stream(seed=7)))


@pytest.mark.parametrize(
    "names", [("user", "price", "item"), ("price", "item", "people"), ("b1", "b0", "b2")]
)
def test_identical_with_namespaces_of_many_letters(names):
    words = Schema(names, ((0, 1), (2, 3), (4, 5)), ("x", "yy", "3", "four", "z5", "x"))
    configuration = VWConfiguration((names[:2], names[1:], names))
    assert_identical(*both(words, configuration, *random_stream(seed=3)))


values = st.floats(-1e6, 1e6, width=32) | st.sampled_from([0.0, 1.0, -1.0, 1e-20, 1e-25])


@settings(max_examples=80, deadline=None)
@given(
    rows=st.lists(st.lists(values, min_size=7, max_size=7), min_size=1, max_size=12),
    interactions=st.lists(
        st.sampled_from(["ab", "ac", "bd", "cc", "aad", "abd", "abcd"]), max_size=3
    ),
    rate=st.sampled_from([1e-4, 0.01, 0.5, 2.0, 100.0]),
    task=st.sampled_from(["regression", "classification"]),
)
def test_identical_on_random_inputs(rows, interactions, rate, task):
    block = np.array(rows, dtype=np.float32)
    configuration = VWConfiguration(tuple(map(tuple, interactions)), rate)
    features, labels = np.ascontiguousarray(block[:, :6]), block[:, 6].copy()
    labels = classes(labels) if task == "classification" else labels
    assert_identical(*both(GROUPS, configuration, features, labels, task))


@pytest.mark.mirror
@pytest.mark.parametrize(
    ("name", "interactions"),
    [
        ("openml:564", ["ab", "cd", "abc"]),
        ("mirror:higgs_7500", []),
        ("mirror:higgs_7500", ["aa", "bc"]),
    ],
)
def test_identical_on_full_real_streams(name, interactions, mirror):
    stream = as_stream(loading.load(name, mirrors=(mirror,)))
    configuration = VWConfiguration(tuple(map(tuple, interactions)))
    given_ = stream.features, stream.labels, stream.task
    assert_identical(*both(stream.schema, configuration, *given_))


def configured(chosen, rate=0.5):
    return VWConfiguration(tuple(tuple(one) for one in chosen), rate)


def test_a_branch_starts_with_its_parents_prediction_and_goes_its_own_way():
    parent, wider, faster = (("ab",), 2.0), (("ab", "bc"), 2.0), (("ab",), 8.0)
    features, labels = random_stream(seed=4, n=60)
    models = KernelModels(GROUPS, 4)
    models.start(0, configured(*parent))
    learned(models, features[:40], labels[:40])
    for slot, branch in enumerate((parent, wider, faster), start=1):
        models.start(slot, configured(*branch), parent=0)
    found = learned(models, features[40:], labels[40:])

    assert found[:, 1].tolist() == found[:, 0].tolist()
    assert (found[0, 1:] == found[0, 0]).all()
    assert (found[1, 2:] != found[1, 0]).all()


MASK = 2**18 - 1
names = st.text(
    st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=12
)


def test_names_hash_as_in_vw():
    with vowpalwabbit.Workspace(arg_list=["--quiet", "-b", "18"]) as workspace:

        @settings(max_examples=30)
        @given(space=names, feature=names | st.integers(0, 10**9).map(str))
        def check(space, feature):
            seed = hash_name(space, 0)

            assert seed == workspace.hash_space(space)
            assert hash_name(feature, seed) & MASK == workspace.hash_feature(feature, seed)

        check()
