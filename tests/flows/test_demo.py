"""``leaseboard demo`` works in an empty folder, without the network."""

import shutil

import pandas as pd

from leaseboard.tasks.machine import environment


def test_the_demo_learns_predicts_and_builds_two_leaderboards(
    leaseboard, store, tmp_path, monkeypatch
):
    conf = tmp_path / "conf"
    shutil.copytree(environment.shipped_conf(), conf)
    table, sales = conf / "demo" / "table.yaml", conf / "demo" / "sales.csv"
    smaller = table.read_text().replace("budget: 8", "budget: 1").replace(", forest-default", "")
    table.write_text(smaller)
    sales.write_text("".join(sales.read_text().splitlines(keepends=True)[:200]))
    monkeypatch.setattr(environment, "shipped_conf", lambda: conf)
    printed = leaseboard("demo", "--output", "leaseboard-demo").out

    folder = tmp_path / "leaseboard-demo"
    predictions = pd.read_csv(folder / "predictions.csv")
    assert len(predictions) == 100
    assert predictions["prediction"].notna().all()
    for name, best in (("stream", "online-automl"), ("table", "leaseboard-default")):
        results = pd.read_parquet(folder / name / "results.parquet")
        assert set(results["status"]) == {"ok"}
        assert best in set(results["name"])
        assert (folder / name / "report.html").is_file()
    assert "leaseboard run leaseboard-demo/stream.yaml" in printed
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert "'leaseboard-demo' is not empty: name another" in leaseboard("demo", code=64).err
    assert files == {path: path.read_bytes() for path in files}
