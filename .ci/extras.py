"""Try each extra of pyproject.toml in an environment that has what it declares, and nothing else.

``.venv/bin/python .ci/extras.py [EXTRA...]``. An environment links to the distributions that
`make install` installed, those of the lock: only what an extra declares, and what this requires in
turn, is in it, so that an import of anything else fails. What the lock does not have, such as
SMAC, is installed into it by pip.
"""

import itertools
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = {"": PROJECT["dependencies"]} | PROJECT["optional-dependencies"]
STREAM = """
from leaseboard import OnlineAutoMLRegressor
model = OnlineAutoMLRegressor()
for day in range(20):
    model.learn_one({"price": float(day % 5)}, 2.0 * day)
model.predict_one({"price": 1.0})
"""
TABLE = """
from leaseboard import AutoMLClassifier
from sklearn.datasets import load_breast_cancer
X, y = load_breast_cancer(return_X_y=True)
AutoMLClassifier(max_trials=3).fit(X, y).predict(X[:3])
"""
SUITE = '{title: t, data: ["sklearn:diabetes?first_rows=60"], algorithms: [vanilla]}'
RUN = ("leaseboard", "run", "suite.yaml", "--run-dir", "run", "--tracking-uri", "sqlite:///ml.db")
POSTGRESQL = """
from sqlalchemy import create_engine
print(create_engine("postgresql://localhost/x").dialect.dbapi.__version__)
"""
SALES = os.fspath(ROOT / "conf/demo/sales.csv")
TRIED: dict[str, list[tuple[str, ...]]] = {
    "": [("python", "-c", STREAM), ("leaseboard", "--help")],
    "tables": [
        ("python", "-c", TABLE),
        ("leaseboard", "learn", "sales.model", SALES, "--target", "revenue"),
        ("leaseboard", "predict", "sales.model", SALES),
        ("python", "-c", "import leaseboard.tasks.models.pipeline"),
        ("leaseboard", "race", "rising-bandits", SALES, "--target", "revenue", "--budget", "9"),
    ],
    "flows": [(*RUN, "--local"), ("leaseboard", "report", "run"), ("leaseboard", "doctor")],
    "dask": [("python", "-c", "import prefect_dask"), (*RUN, "--local")],
    "smac": [("leaseboard", "race", "smac-joint", SALES, "--target", "revenue", "--budget", "9")],
    "postgresql": [("python", "-c", POSTGRESQL)],
}
"""What the documentation names of each extra; the empty one is the package alone."""


def closure(lines: list[str], extra: str, found: dict[tuple[str, str], str]) -> None:
    """Add what lines of requirements name, and all that these require, by name and extra.

    The value is the requirement where the distribution is not installed.
    """
    for each in map(Requirement, lines):
        if each.marker and not each.marker.evaluate({"extra": extra}):
            continue
        try:
            wanted = metadata.requires(each.name) or []
        except metadata.PackageNotFoundError:
            found[each.name, ""] = f"{each.name}{each.specifier}"
            continue
        for part in ("", *each.extras):
            if (each.name, part) not in found:
                found[each.name, part] = ""
                closure(EXTRAS[part] if each.name == "leaseboard" else wanted, part, found)


def environment(folder: Path, extra: str) -> Path:
    """Make an environment of the package with an extra, and return where its programs are."""
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    found: dict[tuple[str, str], str] = {}
    closure([f"leaseboard[{extra}]" if extra else "leaseboard"], "", found)
    for name in {name for (name, _), missing in found.items() if not missing}:
        distribution = metadata.distribution(name)
        for top in {path.parts[0] for path in distribution.files or []} - {"..", "__pycache__"}:
            if not (link := site / top).exists():
                link.symlink_to(Path(os.fspath(distribution.locate_file(top))))
    for editable in site.glob("*leaseboard*.pth"):
        editable.unlink()
    (site / "leaseboard.pth").write_text(f"{ROOT}\n")
    if missing := sorted(filter(None, found.values())):
        pins = folder / "pins.txt"
        lock = (ROOT / "requirements.lock").read_text("utf-8")
        pins.write_text("\n".join(re.findall(r"^[\w.-]+==[^\s;\\]+", lock, re.MULTILINE)), "utf-8")
        install = ("install", "--quiet", "--quiet", "--constraint", pins, *missing)
        pip = (sys.executable, "-m", "pip", "--python", folder / "bin/python")
        subprocess.check_call([*pip, *install])
    script = folder / "bin/leaseboard"
    script.write_text(f"#!{folder}/bin/python\nfrom leaseboard.__main__ import main\nmain()\n")
    script.chmod(0o755)
    return folder / "bin"


def main(extras: list[str]) -> int:
    """Try extras; return how many commands failed."""
    if unknown := EXTRAS.keys() ^ TRIED.keys():
        sys.exit(f"TRIED in .ci/extras.py and the extras of pyproject.toml differ by {unknown}")
    failed = 0
    for extra in extras or TRIED:
        with tempfile.TemporaryDirectory() as scratch:
            programs = environment(Path(scratch) / "venv", extra)
            (Path(scratch) / "suite.yaml").write_text(SUITE)
            for command in TRIED[extra]:
                ended = subprocess.run(
                    [programs / command[0], *command[1:]], cwd=scratch, text=True, timeout=300,
                    capture_output=True, check=False,
                    env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
                    | {"PATH": f"{programs}:{os.environ['PATH']}"},
                )  # fmt: skip
                failed += ended.returncode != 0
                shown = " ".join(itertools.islice(" ".join(command).split(), 12))
                outcome = "FAILED" if ended.returncode else "ok"
                print(f"{extra or 'package alone'}: {shown}: {outcome}", flush=True)
                if ended.returncode:
                    print(ended.stdout[-2000:], ended.stderr[-3000:], flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
