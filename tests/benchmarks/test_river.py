import pytest

from benchmarks import river


@pytest.mark.parametrize(
    ("data", "model"),
    [
        ("TrumpApproval", "linear regression"),
        ("TrumpApproval", "bagged regressions"),
        ("Phishing", "logistic regression"),
        ("ImageSegments", "softmax regression"),
    ],
)
def test_pipelines_of_rivers_documentation_give_its_figures(data, model):
    (row,) = river.rated(data, [model])
    metric, printed = row.printed.split()
    digits = float(printed.rstrip("%")) / (100 if printed.endswith("%") else 1)

    assert row.figures[metric] == pytest.approx(digits, abs=5e-5 if "%" in printed else 5e-7)


def test_what_is_printed_is_of_a_model_that_is_run():
    assert all(model in river.MODELS[data] for data, model in river.PRINTED)


def test_ours_is_better_than_rivers_linear_pipelines():
    for data, other, metric, sign in (
        ("TrumpApproval", "linear regression", "MAE", -1),
        ("ChickWeights", "linear regression", "MAE", -1),
        ("Phishing", "logistic regression", "Accuracy", 1),
    ):
        ours, theirs = river.rated(data, ["online-automl", other])
        assert sign * (ours.figures[metric] - theirs.figures[metric]) > 0, data


def test_the_command_prints_every_stream_and_model():
    said = []
    assert (
        river.main(["--rows", "30", "--data", "ChickWeights", "ImageSegments"], said.append) == 0
    )
    reported = "\n".join(said)

    assert all(
        name in reported for name in ("ChickWeights", "ImageSegments", "CrossEntropy", "RMSE")
    )
    assert all(name in reported for name in (*river.NUMBERS, *river.MANY))
