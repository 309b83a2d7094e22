"""A result that was changed after it was written is found, for any change."""

import dataclasses
import json
import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leaseboard.tasks.folder import results
from leaseboard.tasks.folder.results import DamagedError, dump_result, load_result, shown_at
from leaseboard.tasks.jobs.job import MOST_SCORE, Result, plain, plain_value
from leaseboard.tasks.score.frame import as_frame
from tests.tasks.folder.test_results import is_done

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=3),
)
MADE = st.builds(
    Result,
    key=st.from_regex(r"\A[a-f0-9]{20}\Z"),
    algorithm=st.just("a"),
    name=st.just("α"),
    data=st.just("d"),
    digest=st.just("x"),
    seed=st.integers(0, 2**31 - 1),
    environment_seed=st.just(0),
    repetition=st.integers(0, 9),
    status=st.just("ok"),
    score=st.floats(-MOST_SCORE, MOST_SCORE),
    reason=st.text(),
    metrics=st.dictionaries(st.sampled_from("mn"), NUMBERS),
    settings=st.dictionaries(st.text(), VALUES, max_size=3),
)


MADE_OF = Result(key="k", algorithm="a", name="a", data="d", digest="", seed=0,
                 environment_seed=0, repetition=0, status="ok", score=0.1)  # fmt: skip


TEXTS = st.text(st.characters(exclude_categories=()), max_size=8)
"""Signs of which UTF-8 has none, too: halves of surrogate pairs, as in names of files."""
ANYTHING = st.dictionaries(
    TEXTS,
    st.recursive(
        TEXTS | st.floats() | st.integers() | st.none(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)


@example(MADE_OF, {"a": "\udc80"}, {}, {})
@example(MADE_OF, {}, {"a": ["\ud800x"]}, {"\udfff": "\\udfff", "\ud83d\ude00": 1})
@given(st.just(MADE_OF), ANYTHING, ANYTHING, ANYTHING)
def test_any_result_is_read_back(made, champion, options, settings):
    made = dataclasses.replace(
        made,
        champion=champion,
        environment_options=options,
        settings=settings,
        reason=str(settings),
    )
    found, _ = load_result(dump_result(made, None))

    assert repr(plain(found)) == repr(plain(made))  # by their texts: a NaN equals nothing
    assert repr(plain_value(found.settings)) == repr(plain_value(settings))


@settings(max_examples=30)
@given(MADE, st.data())
def test_a_change_of_any_field_breaks_the_checksum(made, data):
    fields = json.loads(dump_result(made, None))
    name = data.draw(st.sampled_from(sorted(fields)))
    value = data.draw(VALUES | st.just(math.nan))
    changed = json.dumps(fields | {name: value})
    if changed != json.dumps(fields):
        with pytest.raises(DamagedError):
            load_result(changed.encode())
    del fields[name]
    with pytest.raises(DamagedError):
        load_result(json.dumps(fields).encode())


def test_anything_else_is_not_a_checked_result():
    for content in (b"", b"{", b"[]", b"{}", b"\xff", b"[" * 10_000, b"null"):
        with pytest.raises(DamagedError):
            load_result(content)


def edited_log(folder):
    path = folder / results.EVENTS
    content = bytearray(path.read_bytes())
    content[-6] ^= 1  # of the same length
    path.write_bytes(content)
    return path


def lost_log(folder):
    (folder / results.EVENTS).unlink()
    return folder / results.EVENTS


def test_an_edited_job_is_not_done_and_named(put_job, tmp_path):
    for edit in (edited_log, lost_log):
        out = tmp_path / edit.__name__
        put_job(out, "k1")
        whole = put_job(out, "k2", repetition=1)
        results.assemble(out, results.read_results(out))
        assert results.damaged(out) == []
        path = edit(results.job_folder(out, "k1"))

        assert not is_done(out, "k1")
        assert is_done(out, "k2")
        (damage,) = results.damaged(out)
        assert damage.path == path
        assert "\n" not in str(damage)
        assert "its job is not done; run its suite again" in str(damage)
        frame = as_frame(shown_at(out)).set_index("key")
        assert frame.loc["k1", "status"] == "not done"
        assert str(path) in frame.loc["k1", "reason"]
        assert math.isnan(frame.loc["k1", "score"])
        assert frame.loc["k2", "score"] == whole.score


def test_a_score_that_was_edited_in_the_table_alone_is_not_believed(put_job, tmp_path):
    put_job(tmp_path, "k1")
    results.assemble(tmp_path, results.read_results(tmp_path))
    table = results.read_table(tmp_path / results.TABLE)
    table["score"] = 0.0001
    table.to_parquet(tmp_path / results.TABLE, index=False)

    assert list(as_frame(shown_at(tmp_path))["score"]) == [0.5]
    assert list(as_frame(shown_at(tmp_path / results.TABLE))["score"]) == [0.5]
