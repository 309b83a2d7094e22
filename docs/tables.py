"""Make the tables and the chart of the pages from the results in docs/results: ``make tables``.

``python docs/tables.py COMMIT RUN_FOLDER...`` first writes ``docs/results/NAME.csv`` of each run
folder NAME, a row a job, with that commit and the machine on which this is called.

A table is between two lines of a page, ``<!-- table: NAME -->`` and ``<!-- end -->``.
"""

import functools
import json
import platform
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

DOCS = Path(__file__).parent
RESULTS = DOCS / "results"
CHART = DOCS / "benchmarks" / "error-by-protocol.png"
PAGES = [DOCS.parent / "README.md", *sorted(DOCS.glob("*/*.md"))]
PLACE = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
KEPT = ["data", "name", "repetition", "rows", "status", "metric", "score", "unit", "units",
        "cpu_seconds", "metrics", "version", "libraries", "commit", "machine"]  # fmt: skip
METRICS = "exploitation.arm1", "overrun", "test"
"""Metrics of a job that tables show."""
DEVELOPED = {"frameworks-streams": "labels at once", "frameworks-late-200": "200 rows later"}
HELD_OUT = {"held-out": "labels at once", "held-out-late-200": "200 rows later"}
"""Suites on streams by how the labels come: on some of these defaults were chosen, on none."""
NEXT_TO_NAIVE = {"streams": "at once", "streams-late-24": "24 rows later",
                 "streams-late-200": "200 rows later"}  # fmt: skip
BASELINES = {"running-mean": "running mean", "last-label": "last label",
             "seasonal-last": "last season", "online-ridge": "online ridge"}  # fmt: skip
LEARNERS = {
    "online-automl": "Leaseboard online AutoML",
    "river-arf": "River adaptive random forest",
    "capymoa-arf": "CapyMOA adaptive random forest",
    "river-hat": "River Hoeffding adaptive tree",
    "river-linear": "River linear model",
    "refitted-lightgbm": "LightGBM, fitted again",
    "vanilla": "Vowpal Wabbit's defaults",
    "chacha-flaml": "ChaCha as in FLAML",
    **BASELINES,
}


def collect(commit, run):
    """Write the results of a run folder, a row a job."""
    table = pd.read_parquet(run / "results.parquet")
    said = [{key: found[key] for key in METRICS if found.get(key) is not None}
            for found in map(json.loads, table["metrics"])]  # fmt: skip
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    table["metrics"] = [json.dumps(each) for each in said]
    table = table[table["status"] != "skipped"]  # no data here, or not a task of the learner
    machine = f"{platform.machine()} {model[1] if model else ''}".strip()
    table = table.assign(commit=commit, machine=machine)
    table[KEPT].to_csv(RESULTS / f"{run.name}.csv", index=False, float_format="%.6g")


def read(suite):
    """Return the jobs of a suite that ended well."""
    table = pd.read_csv(RESULTS / f"{suite}.csv")
    return table[table["status"] == "ok"]


@functools.cache
def suite_of(name):
    """Return the YAML of a suite."""
    return yaml.safe_load((DOCS.parent / "conf" / "suites" / f"{name}.yaml").read_text())


def names_of(suite):
    """Return the names of a suite's datasets by reference."""
    return {each["data"]: each.get("name", each["data"]) for each in suite_of(suite)["data"]}


def markdown(frame):
    """Return a table in Markdown."""
    lines = [frame.columns, ["---"] * len(frame.columns), *frame.to_numpy()]
    return "\n".join(f"| {' | '.join(map(str, each))} |" for each in lines)


def named(frame, title):
    """Return a table in Markdown whose first column is the index."""
    return markdown(frame.rename_axis(title).reset_index())


def short(value, digits=3):
    """Return a number with so many digits, and a dash for none."""
    return "–" if pd.isna(value) else f"{value:.{digits}g}"


def relative_errors(suite, metric):
    """Return error / the best naive baseline's of a suite on streams, a column a learner."""
    table = read(suite)
    errors = table[table["metric"] == metric].pivot_table("score", "data", "name")
    return errors.div(errors[[*BASELINES]].min(axis=1), axis=0)


def streams(protocols):
    """Yield protocol, task and relative errors of suites with other libraries."""
    for suite, protocol in protocols.items():
        for metric, task in (("progressive_mse", "numbers"), ("progressive_error", "classes")):
            yield protocol, task, relative_errors(suite, metric)


def geometric(values):
    """Return the geometric mean; NaN if one is missing."""
    return np.exp(np.log(values).mean(skipna=False))


def by_protocol(protocols):
    """Return the geometric mean of relative errors, and the mean rank, by task and protocol.

    The last column is what a row costs, predicted and learned, under the last protocol.
    """
    cells, means = {}, pd.Series()
    for protocol, task, errors in streams(protocols):
        means = geometric(errors)
        ranks = errors.rank(axis=1, na_option="bottom").mean()
        cells[f"{task}, {protocol}"] = means.map(short) + ranks.map(" ({:.1f})".format)
    cost = read([*protocols][-1]).groupby("name")[["cpu_seconds", "rows"]].sum()
    cells["CPU µs a row"] = (1e6 * cost["cpu_seconds"] / cost["rows"]).map("{:.0f}".format)
    return named(pd.DataFrame(cells).reindex(means.sort_values().index), "algorithm")


def against_naive():
    """Return what the default loses over the best naive baseline, a dataset at a time."""
    rows = {}
    for suite, title in NEXT_TO_NAIVE.items():
        losses = read(suite).pivot_table("score", "data", "name").rename(names_of("streams"))
        relative = losses["online-automl"] / losses[[*BASELINES]].min(axis=1)
        worst = relative[relative > 1].sort_values(ascending=False).map("{:.3f}".format)
        rows[title] = short(geometric(relative)), ", ".join(f"{a} {b}" for a, b in worst.items())
    titles = ["relative loss, geometric mean", "above 1"]
    return named(pd.DataFrame(rows, index=titles).T, "labels")


def against_refitted():
    """Return error / that of LightGBM, fitted again, by dataset and protocol."""
    frame = pd.DataFrame()
    for protocol, _, errors in streams(DEVELOPED):
        ratio = errors["online-automl"] / errors["refitted-lightgbm"]
        frame = frame.combine_first(ratio.to_frame(protocol))
    names = names_of("frameworks-streams")
    return named(frame.reindex(names).rename(names).map(short), "dataset")


def next_to(suite):
    """Yield rivals, and the default's losses over theirs: a row a dataset, a column a seed."""
    losses = read(suite).pivot_table("score", ["data", "repetition"], "name")
    losses = losses.rename(names_of(suite))
    rivals = {"best naive baseline": losses[[*BASELINES]].min(axis=1),
              "LightGBM, fitted again": losses["refitted-lightgbm"]}  # fmt: skip
    for rival, theirs in rivals.items():
        yield rival, (losses["online-automl"] / theirs).unstack()


def with_interval(ratios):
    """Return a geometric mean, and its interval where datasets are drawn again 10,000 times."""
    drawn = np.random.default_rng(0).integers(len(ratios), size=(len(ratios), 10_000))
    means = geometric(pd.DataFrame(ratios.to_numpy()[drawn]))
    low, high = map(short, np.quantile(means, [0.025, 0.975]))
    return f"{short(geometric(ratios))} [{low}, {high}]"


def held_out():
    """Return the default's losses where nothing was developed, over those of two rivals."""
    rows = {}
    for suite, protocol in HELD_OUT.items():
        for rival, runs in next_to(suite):
            ratios = geometric(runs.T)
            worst = ratios[ratios > 1].sort_values(ascending=False)
            rows[f"{protocol}, over {rival}"] = (
                with_interval(ratios),
                " ".join(map(short, geometric(runs))),
                ", ".join(f"{name} {value:.2f}" for name, value in worst.items()),
            )
    titles = ["relative loss [95 % interval]", "of each seed", "above 1"]
    return named(pd.DataFrame(rows, index=titles).T, "labels")


def ranks():
    """Return the same in a line a protocol, with the mean ranks of the first two learners."""
    rows = {}
    for suite, protocol in HELD_OUT.items():
        errors = pd.concat(each for at, _, each in streams(HELD_OUT) if at == protocol)
        means = errors.rank(axis=1, na_option="bottom").mean().sort_values()
        first = ", ".join(f"{name} {mean:.1f}" for name, mean in means[:3].items())
        found = {f"mean rank, of {len(means)}": first}
        for rival, runs in next_to(suite):
            ratios = geometric(runs.T)
            found[f"loss over {rival}"] = with_interval(ratios)
            found[f"{rival.split(',')[0]} is ahead on"] = f"{(ratios > 1).sum()} of {len(ratios)}"
        rows[protocol] = found
    return named(pd.DataFrame(rows).T, "labels")


def systems():
    """Return the test score of each system on each table, their mean rank first."""
    scores = read("tables").pivot_table("score", "data", "name").rename(names_of("tables"))
    ranks = scores.rank(axis=1, ascending=False)
    order = ranks.mean().sort_values().index
    seconds = read("tables").pivot_table("cpu_seconds", index="name").loc[order, "cpu_seconds"]
    top = {"mean rank": ranks.mean()[order].map("{:.2f}".format),
           "CPU seconds a fit": seconds.map("{:.1f}".format)}  # fmt: skip
    scores = scores.reindex(names_of("tables").values())[order].map("{:.4f}".format)
    frame = pd.concat([pd.DataFrame(top).T, scores])
    return named(frame, "table")


def selection(suite="frameworks-selection", full="full-run"):
    """Return the accuracy that each selection lost, its CPU seconds, and how much faster it is."""
    table = read(suite)
    scores = table.pivot_table("score", ["data", "repetition"], "name")
    seconds = table.pivot_table("cpu_seconds", ["data", "repetition"], "name")
    loss, faster = scores.rsub(scores[full], axis=0), seconds.rdiv(seconds[full], axis=0)
    columns = {"mean loss": loss.mean(), "largest loss": loss.max(),
               "CPU seconds": seconds.mean(), "times faster": geometric(faster)}  # fmt: skip
    frame = pd.DataFrame(columns).sort_values("CPU seconds").map(short).replace("inf", "–")
    return named(frame, "algorithm")


def speed_up():
    """Return the same of the largest dataset of ABC's paper that there is."""
    return selection("paper-abc", "full-run n=20")


def published(suite):
    """Return the numbers of a paper / the mean and standard deviation of those measured.

    They agree within two of the paper's standard deviations, or the suite's tolerance.
    """
    paper, table = suite_of(suite), read(suite)
    scores = table.pivot_table("score", ["data", "repetition"], "name")
    rows = []
    for each in yaml.safe_load((DOCS / "published.yaml").read_text())[suite]:
        name, metric = each["algorithm"], each["metric"]
        if name not in scores or each["data"] not in scores.index:
            continue
        if metric == "score":
            values = scores.loc[each["data"], name]
        elif metric == "normalised_score":
            zero, one = (scores[paper["normalise"][end]] for end in ("zero", "one"))
            values = ((zero - scores[name]) / (zero - one)).loc[each["data"]]
        else:
            jobs = table[(table["name"] == name) & (table["data"] == each["data"])]
            values = jobs["metrics"].map(lambda text, key=metric: json.loads(text)[key])
        printed, spread, mean = each["value"], each.get("sd"), short(values.mean())
        rounding = 0.005 if spread is not None else 0  # deviations are printed with two decimals
        allowed = max(2 * (spread or 0), each.get("tolerance", 0), rounding)
        said = f"{printed:g}" + (f" ± {spread:g}" if spread is not None else "")
        found = f"{mean} ± {short(values.std(), 2)}" if len(values) > 1 else mean
        mark = " (no)" if abs(values.mean() - printed) > allowed else ""
        rows.append({"algorithm": name, "dataset": names_of(suite)[each["data"]],
                     "metric": metric, "figure": f"{said} / {found}{mark}"})  # fmt: skip
    frame = pd.DataFrame(rows)
    across = "metric" if frame["dataset"].nunique() == 1 else "algorithm"
    down = [key for key in ("dataset", "metric", "algorithm")
            if key != across and frame[key].nunique() > 1]  # fmt: skip
    wide = frame.pivot_table("figure", down, across, aggfunc="first", sort=False).fillna("")
    near = sum(not row["figure"].endswith("(no)") for row in rows)
    return f"{markdown(wide.reset_index())}\n\n{near} of {len(rows)} figures agree."


TABLES = {"ranks": ranks, "by-protocol-held-out": lambda: by_protocol(HELD_OUT),
          "held-out": held_out, "by-protocol": lambda: by_protocol(DEVELOPED),
          "against-refitted": against_refitted, "against-naive": against_naive,
          "systems": systems, "selection": selection, "speed-up": speed_up}  # fmt: skip


def with_tables(text):
    """Return a page with its tables made again: those above, or of what a suite's paper prints."""

    def made(place):
        table = TABLES[place[2]]() if place[2] in TABLES else published(place[2])
        return f"{place[1]}\n{table}\n\n{place[3]}"

    return PLACE.sub(made, text)


def draw():
    """Draw the chart of relative errors on regressions that nothing was developed on."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    relative = pd.DataFrame(
        {protocol: geometric(errors.filter(items=LEARNERS))
         for protocol, task, errors in streams(HELD_OUT) if task == "numbers"}
    )  # fmt: skip
    relative = relative.sort_values(relative.columns[-1], ascending=False)
    figure, panel = plt.subplots(figsize=(9, 5.6), layout="constrained")
    places = range(len(relative))
    panel.hlines(places, relative.min(axis=1), relative.max(axis=1), color="#cbd5e1")
    for height, protocol in zip((7, -13), relative, strict=True):
        panel.plot(relative[protocol], places, "o", label=protocol)
        for place, value in enumerate(relative[protocol]):
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


if __name__ == "__main__":
    for folder in sys.argv[2:]:
        collect(sys.argv[1], Path(folder))
    for page in PAGES:
        page.write_text(with_tables(page.read_text()))
    draw()
