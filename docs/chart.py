"""Draw README's chart from docs/results/streams.csv: ``python docs/chart.py``.

``python docs/chart.py COMMIT RUN_FOLDER...`` first makes that file of the results of runs at a
commit, a row a job. The relative error of a learner is the geometric mean, over the regressions
that all learners have done, of its error divided by that of the best naive baseline under the same
protocol.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

DOCS = Path(__file__).parent
RESULTS = DOCS / "results" / "streams.csv"
CHART = DOCS / "benchmarks" / "error-by-protocol.png"
KEPT = ["suite", "labels", "data", "name", "repetition", "rows", "status", "metric", "score",
        "cpu_seconds", "version", "commit"]  # fmt: skip
SUITES = "frameworks-streams", "frameworks-late-200"
PROTOCOLS = {
    "immediate": "each label before the next row",
    "after=200": "each label 200 rows later",
}
BASELINES = {"running-mean": "running mean", "last-label": "last label",
             "seasonal-last": "last season", "online-ridge": "online ridge"}  # fmt: skip
LEARNERS = {
    "online-automl": "Leaseboard online AutoML",
    "river-arf": "River adaptive random forest",
    "river-hat": "River Hoeffding adaptive tree",
    "river-linear": "River linear model",
    "refitted-lightgbm": "LightGBM, fitted again",
    "vanilla": "Vowpal Wabbit's defaults",
    "chacha-flaml": "ChaCha as in FLAML",
    **BASELINES,
}


def collect(commit, runs):
    """Write the results of run folders, a row a job."""
    found = []
    for run in map(Path, runs):
        table = pd.read_parquet(run / "results.parquet")
        labels = [json.loads(options).get("labels") for options in table["environment_options"]]
        found.append(table.assign(suite=run.name, labels=labels, commit=commit)[KEPT])
    RESULTS.parent.mkdir(exist_ok=True)
    pd.concat(found).to_csv(RESULTS, index=False, float_format="%.6g")


def relative_errors(table):
    """Return the geometric mean of error / best naive baseline's, by learner and protocol."""
    table = table[table["suite"].isin(SUITES) & (table["status"] == "ok")]
    table = table[table["metric"] == "progressive_mse"]
    columns = {}
    for labels in PROTOCOLS:
        errors = table[table["labels"] == labels].pivot_table("score", "data", "name")[[*LEARNERS]]
        relative = errors.dropna().div(errors[[*BASELINES]].min(axis=1), axis=0)
        columns[labels] = np.exp(np.log(relative).mean())
    return pd.DataFrame(columns)


def main():
    """Write the chart, and print what it shows."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    if sys.argv[1:]:
        collect(sys.argv[1], sys.argv[2:])
    relative = relative_errors(pd.read_csv(RESULTS)).sort_values("after=200", ascending=False)
    figure, panel = plt.subplots(figsize=(9, 4.4), layout="constrained")
    places = range(len(relative))
    panel.hlines(places, relative.min(axis=1), relative.max(axis=1), color="#cbd5e1")
    for height, (labels, title) in zip((7, -13), PROTOCOLS.items(), strict=True):
        panel.plot(relative[labels], places, "o", label=title)
        for place, value in enumerate(relative[labels]):
            panel.annotate(f"{value:.2f}", (value, place), (0, height), ha="center", fontsize=8,
                           textcoords="offset points")  # fmt: skip
    panel.set_yticks(places, [LEARNERS[name] for name in relative.index])
    panel.axvline(1, color="black", linewidth=0.8)
    ticks = [0.3, 0.5, 1, 2, 4]
    panel.set(xscale="log", xlabel="relative error (best naive baseline = 1, less is better)")
    panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    panel.minorticks_off()
    panel.margins(x=0.1, y=0.08)
    panel.legend(frameon=False)
    panel.spines[["top", "right"]].set_visible(False)
    figure.savefig(CHART, dpi=110)
    sys.stdout.write(relative.round(3).to_string() + "\n")


if __name__ == "__main__":
    main()
