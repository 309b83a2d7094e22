"""The command counts false drops by rows that no fold holds."""

from benchmarks import early_stopping


def test_both_readings_are_judged(monkeypatch):
    monkeypatch.setattr(
        early_stopping, "ordinary", lambda made=early_stopping.ordinary: made()[:3]
    )
    lines = []

    data = "synthetic:separated?rows=3000&classes=3&flip=0.2&seed=0"
    given = ["--data", data, "--rows", "400", "--seeds", "2"]
    assert early_stopping.main(given, lines.append) == 0
    assert ["alike" in line for line in lines] == [True, True, False, False]
    assert all("lost more in" in line for line in lines)
