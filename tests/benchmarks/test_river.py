import pytest

from benchmarks import river


@pytest.mark.parametrize(
    ("data", "model"),
    [
        ("TrumpApproval", "linear regression"),
        ("Phishing", "logistic regression"),
    ],
)
def test_pipelines_of_rivers_documentation_give_its_figures(data, model):
    (row,) = river.rated(data, [model])
    metric, printed = row.printed.split()
    digits = float(printed.rstrip("%")) / (100 if printed.endswith("%") else 1)

    assert row.figures[metric] == pytest.approx(digits, abs=5e-5 if "%" in printed else 5e-7)


def test_what_is_printed_is_of_a_model_that_is_run():
    assert all(model in river.MODELS[data] for data, model in river.PRINTED)
