"""Draw charts from the tables of docs/benchmarks/streams.md: ``python docs/chart.py``.

The first is README's, of the twelve regressions; the second has all learners, on regressions and
on classifications, and what they take a row. The relative error of a learner is the geometric
mean, over datasets, of its error divided by that of the best naive baseline.
"""

import math
import re
import sys
from pathlib import Path

PAGE = Path(__file__).parent / "benchmarks" / "streams.md"
CHART = Path(__file__).parent / "benchmarks" / "error-and-cpu.png"
ALL = CHART.with_name("error-and-microseconds.png")
ROWS = {"Regressions": 114_177 / 12, "Classifications": 84_601 / 9}
"""Rows of a job, on average: abalone has 4,177, spambase 4,601, the others 10,000."""
BASELINES = {"running-mean": "running mean", "last-label": "last label",
             "online-ridge": "online ridge"}  # fmt: skip
LEARNERS = {
    "online-automl": "Leaseboard online AutoML",
    "river-arf": "River adaptive random forest",
    "river-srp": "River random patches",
    "river-hat": "River Hoeffding adaptive tree",
    "river-linear": "River linear model",
    "flaml-autovw": "FLAML AutoVW",
    **BASELINES,
}


def read_tables(text, title="Regressions"):
    """Return errors by learner and dataset, and CPU seconds of a job by learner."""
    part = text.partition(f"## {title}")[2].partition("\n## ")[0]
    tables = [
        [[cell.strip(" `") for cell in row.strip("|").split("|")] for row in table.splitlines()]
        for table in re.findall(r"(?:^\|.*\n)+", part, re.MULTILINE)
    ]
    cpu = {row[0]: float(row[3]) for row in tables[0][2:]}
    names = tables[1][0][1:]
    errors = {row[0]: dict(zip(names, row[1:], strict=True)) for row in tables[1][2:]}
    return errors, cpu


def relative_errors(errors, learners=LEARNERS):
    """Return the geometric mean over datasets of error / best naive baseline's, by learner."""
    found = {}
    for learner in learners:
        logs = [
            math.log(float(error) / min(float(errors[each][name]) for each in BASELINES))
            for name, error in errors[learner].items()
            if error != "–"
        ]
        found[learner] = math.exp(sum(logs) / len(logs))
    return found


def draw_all(plt, text):
    """Write the chart of all learners: relative error against microseconds a row."""
    figure, panels = plt.subplots(1, 2, figsize=(13, 6), layout="constrained")
    for panel, (title, rows) in zip(panels, ROWS.items(), strict=True):
        errors, cpu = read_tables(text, title)
        relative = relative_errors(errors, errors)
        for name, error in relative.items():
            ours, naive = name == "online-automl", name in BASELINES or name == "seasonal-last"
            colour = "#c2410c" if ours else "#94a3b8" if naive else "#1d4ed8"
            place = 1e6 * cpu[name] / rows, min(error, 10)
            panel.plot(*place, "o", color=colour, markersize=9 if ours else 5)
            panel.annotate(name + (" (beyond 10)" if error > 10 else ""), place, (5, 3),
                           fontsize=8, textcoords="offset points", color=colour)  # fmt: skip
        panel.axhline(1, color="black", linewidth=0.8)
        panel.set(title=title, xscale="log", yscale="log", xlabel="µs a row",
                  ylabel="relative error (best naive baseline = 1)")  # fmt: skip
        panel.margins(x=0.2)
        panel.spines[["top", "right"]].set_visible(False)
    figure.savefig(ALL, dpi=100)


def main():
    """Write the charts."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    text = PAGE.read_text(encoding="utf-8")
    draw_all(plt, text)
    errors, cpu = read_tables(text)
    relative = relative_errors(errors)
    order = sorted(LEARNERS, key=relative.get, reverse=True)
    colours = [
        "#c2410c" if name == "online-automl" else "#94a3b8" if name in BASELINES else "#1d4ed8"
        for name in order
    ]
    figure, panels = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True, layout="constrained")
    for panel, values, title, log in (
        (panels[0], relative, "relative error (best naive baseline = 1, less is better)", False),
        (panels[1], cpu, "CPU seconds for 10,000 rows (log scale)", True),
    ):
        panel.barh([LEARNERS[name] for name in order], [values[name] for name in order],
                   color=colours, log=log)  # fmt: skip
        for place, name in enumerate(order):
            white = {"color": "white", "pad": 0.5}
            panel.annotate(f"{values[name]:.2g}", (values[name], place), (6, 0), fontsize=9,
                           textcoords="offset points", va="center", bbox=white)  # fmt: skip
        panel.set_title(title, fontsize=10)
        panel.margins(x=0.15)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].axvline(1, color="black", linewidth=0.8)
    figure.savefig(CHART, dpi=120)
    sys.stdout.write("".join(f"{name} {relative[name]:.3g} {cpu[name]:.3g}\n" for name in order))


if __name__ == "__main__":
    main()
