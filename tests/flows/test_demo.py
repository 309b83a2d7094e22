"""``leaseboard demo`` works in an empty folder, without the network."""

import pandas as pd


def test_the_demo_learns_predicts_and_builds_two_leaderboards(tmp_path, zygote):
    words = ["-m", "leaseboard", "demo", "--output", "leaseboard-demo"]
    done = zygote.run(words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr

    folder = tmp_path / "leaseboard-demo"
    predictions = pd.read_csv(folder / "predictions.csv")
    assert len(predictions) == 100
    assert predictions["prediction"].notna().all()
    for name, best in (("stream", "online-automl"), ("table", "leaseboard-default")):
        results = pd.read_parquet(folder / name / "results.parquet")
        assert set(results["status"]) == {"ok"}
        assert best in set(results["name"])
        assert (folder / name / "report.html").is_file()
    assert "leaseboard run leaseboard-demo/stream.yaml" in done.stdout.decode()
