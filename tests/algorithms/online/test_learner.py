"""Which engine is taken, and that a fallback says so."""

import logging

import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.kernel import LOGISTIC, OPTIONS
from leaseboard.algorithms.online.learner import _tell_fallback, choose_engine


@pytest.fixture(autouse=True)
def nothing_told():
    """Other tests of this process may have fallen back before."""
    _tell_fallback.cache_clear()


def test_the_kernel_is_taken_where_it_can_do_the_work(caplog):
    with caplog.at_level(logging.WARNING):
        assert choose_engine("auto", "regression") == ("kernel", ())
        assert choose_engine("auto", "classification") == ("kernel", OPTIONS[LOGISTIC])

    assert not caplog.records


@pytest.mark.parametrize(
    ("task", "own"), [("classification", OPTIONS[LOGISTIC]), ("regression", ())]
)
def test_a_fallback_says_so(caplog, task, own):
    with caplog.at_level(logging.WARNING):
        chosen = choose_engine("auto", task, "--l1 1e-6")

    assert chosen == ("vw", (*own, "--l1", "1e-6"))
    assert "falling back" in caplog.text
    assert "the kernel has no --l1 1e-6" in caplog.text


def test_the_kernel_refuses_what_it_cannot_do():
    with pytest.raises(UsageError, match=r"cannot train with --link logistic: .* 'vw' or 'auto'"):
        choose_engine("kernel", "classification", "--link logistic")


@pytest.mark.parametrize("algorithm", ["chacha", "vanilla", "offline", "best-in-hindsight"])
def test_options_that_vw_refuses_are_told_with_the_setting_and_in_its_words(algorithm):
    with pytest.raises(UsageError, match=r"setting vw_options=.*unrecognised option '--nonsense'"):
        registry.build(algorithm, {"vw_options": "--nonsense 3"})


@pytest.mark.parametrize(
    "options", ["-f {}", "-f{}", "--final_regressor={}", "--l2 0 --predictions {}", "-i {}"]
)
def test_options_that_name_files_are_refused_before_vw_sees_them(options, tmp_path):
    path = tmp_path / "written"
    with pytest.raises(UsageError, match="is about files or ports: leave it out"):
        registry.build("vanilla", {"vw_options": options.format(path)})

    assert not path.exists()
