"""Our hashes are those of the installed wheel."""

from hypothesis import given, settings
from hypothesis import strategies as st
from vowpalwabbit import Workspace

from leaseboard.algorithms.online.schema import hash_name

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
