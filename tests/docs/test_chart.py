"""README's chart is of figures that its page has."""

import importlib.util

import pytest

from tests.docs import pages


def load_chart():
    spec = importlib.util.spec_from_file_location("chart", pages.DOCS / "chart.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_chart_has_the_figures_of_the_page_and_is_in_readme():
    chart = load_chart()
    errors, cpu = chart.read_tables(chart.PAGE.read_text(encoding="utf-8"))
    relative = chart.relative_errors(errors)

    assert set(chart.LEARNERS) <= set(errors) & set(cpu)
    assert relative["online-automl"] == pytest.approx(0.369, abs=0.001)
    assert relative["running-mean"] > relative["online-ridge"] > 1
    assert chart.CHART.is_file()
    text = (pages.ROOT / "README.md").read_text(encoding="utf-8")
    assert f"](docs/benchmarks/{chart.CHART.name})" in text
