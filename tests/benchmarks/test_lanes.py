"""The command times models side by side and one by one, which learn the same."""

from benchmarks import lanes


def test_side_by_side_and_one_by_one_lose_alike(capsys):
    together, alone, limit = lanes.run([4], repeats=1)

    assert together.loss == alone.loss > 0
    assert together.examples == alone.examples > limit.examples / 1000
    assert lanes.main(["--models", "4", "--repeats", "1"]) == 0
    assert [line[:35].strip() for line in capsys.readouterr().out.splitlines()[1:]] == [
        "4 models, side by side",
        "4 models, one by one",
        "two divisions and a square root",
    ]
