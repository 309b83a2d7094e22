"""Which engine is taken, and that a fallback says so."""

import logging

import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.engines import _log_fallback, choose_engine
from leaseboard.algorithms.online.kernel import LOGISTIC, OPTIONS


@pytest.fixture(autouse=True)
def nothing_reported():
    """Forget fallbacks that other tests of this process have reported."""
    _log_fallback.cache_clear()


def test_the_kernel_is_taken_where_it_can_do_the_work(caplog):
    with caplog.at_level(logging.WARNING):
        assert choose_engine("auto", "regression") == ("kernel", ())
        assert choose_engine("auto", "classification") == ("kernel", OPTIONS[LOGISTIC])

    assert not caplog.records


def test_a_fallback_says_so_and_the_kernel_refuses_what_it_cannot_do(caplog):
    with caplog.at_level(logging.WARNING):
        for task, own in (("classification", OPTIONS[LOGISTIC]), ("regression", ())):
            assert choose_engine("auto", task, "--l1 1e-6") == ("vw", (*own, "--l1", "1e-6"))

    assert "falling back" in caplog.text
    assert "the kernel has no --l1 1e-6" in caplog.text
    with pytest.raises(UsageError, match=r"cannot train with --link logistic: .* 'vw' or 'auto'"):
        choose_engine("kernel", "classification", "--link logistic")


def test_options_that_vw_refuses_are_named_with_the_setting_and_in_its_words():
    for name in ("online-automl", "vanilla", "offline", "best-in-hindsight"):
        with pytest.raises(UsageError, match=r"setting vw_options=.*unrecognised option '--nons"):
            registry.build(name, {"vw_options": "--nonsense 3"})


def test_options_that_name_files_are_refused_before_vw_sees_them(tmp_path):
    path = tmp_path / "written"
    for options in ("-f {}", "-f{}", "--final_regressor={}", "--l2 0 --predictions {}", "-i {}"):
        with pytest.raises(UsageError, match="is about files or ports: leave it out"):
            registry.build("vanilla", {"vw_options": options.format(path)})

    assert not path.exists()
