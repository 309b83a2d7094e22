"""What is wrong with a suite is said with file, line and key, before anything is read."""

import pytest

from algorithms.errors import UsageError
from tasks.config import load_suite
from tasks.plan import check_suite

GOOD = """\
title: t
data:
  - sklearn:wine
  - {data: "sklearn:iris", bench: {max_rows: 50}}
algorithms:
  - vanilla
  - name: chacha
    settings:
      b: 5
    bench: {max_rows: 100}
bench: {log_target: false}
"""


def checked(folder, old, new):
    assert old in GOOD
    path = folder / "s.yaml"
    path.write_text(GOOD.replace(old, new))
    check_suite(load_suite(str(path), folder), path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("- vanilla", "- vanila", "s.yaml:6: algorithms.0.name: unknown algorithm 'vanila'"),
        ("b: 5", "bb: 5", "s.yaml:9: algorithms.1.settings.bb: unknown setting of chacha 'bb'"),
        ("b: 5", "b: many", "s.yaml:9: algorithms.1.settings.b: chacha: setting b='many'"),
        (
            "b: 5",
            "preset: papr",
            "s.yaml:9: algorithms.1.settings.preset: .* did you mean 'paper'",
        ),
        ("max_rows: 100", "max_rows: 0", "s.yaml:10: algorithms.1.bench.max_rows: stream bench"),
        ("max_rows: 50", "max_row: 5", "s.yaml:4: data.1.bench.max_row: .* mean 'max_rows'"),
        ("log_target: f", "log_targt: f", "s.yaml:11: bench.log_targt: .* mean 'log_target'"),
        ("sklearn:wine", "sklearn:win", "s.yaml:3: data.0.data: .* did you mean 'wine'"),
    ],
)
def test_what_is_wrong_is_located(tmp_path, old, new, message):
    with pytest.raises(UsageError, match=message) as error:
        checked(tmp_path, old, new)
    assert "\n" not in str(error.value)


def test_a_sound_suite_passes(tmp_path):
    checked(tmp_path, "b: 5", "b: 6")
