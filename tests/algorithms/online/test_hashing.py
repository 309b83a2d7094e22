"""Our hashes are those of the installed wheel."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from vowpalwabbit import Workspace

from leaseboard.algorithms.online.hashing import FNV_PRIME, cross, hash_name

MASK = 2**18 - 1
names = st.text(
    st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=12
)


def test_names_hash_as_in_vw():
    with Workspace(arg_list=["--quiet", "-b", "18"]) as workspace:

        @settings(max_examples=100)
        @given(space=names, feature=names | st.integers(0, 10**9).map(str))
        def check(space, feature):
            seed = hash_name(space, 0)

            assert seed == workspace.hash_space(space)
            assert hash_name(feature, seed) & MASK == workspace.hash_feature(feature, seed)

        check()


@given(st.lists(st.integers(0, 2**32 - 1), min_size=2, max_size=5))
def test_crosses_that_overflow_are_masked_as_whole_numbers_are(hashes):
    exact, found = hashes[0], np.array(hashes[:1])
    for one in hashes[1:]:
        exact, found = (FNV_PRIME * exact) ^ one, cross(found, np.array([one]))

    assert found[0] & MASK == exact & MASK
