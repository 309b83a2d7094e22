from benchmarks import ensembles


def test_the_second_fit_runs_no_trial_again(tmp_path):
    row = ensembles.measured("sklearn:wine", 0, 9, str(tmp_path / "store.sqlite"))

    assert row.again == 0
    assert 0.8 < row.best <= 1
    assert row.ensemble > 0.8
    assert row.members >= 1


def test_the_command_says_how_often_the_ensemble_was_better(monkeypatch):
    rows = iter([ensembles.EnsembleGain(0.9, 0.8, 3, 0), ensembles.EnsembleGain(0.75, 0.8, 3, 0)])
    monkeypatch.setattr(ensembles, "measured", lambda *_: next(rows))
    said = []

    assert ensembles.main(["--data", "a", "b", "--seeds", "1"], said.append) == 0
    assert said[-1] == ("better on 1 of 2 tables, alike on 0, mean gain +0.0250, worst -0.0500")
