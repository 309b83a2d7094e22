"""Fuzz the readers of what comes from outside: ``python -m tests.fuzz --cases 100000``.

Each case is valid content that was mutated, and is known by its target, seed and number. Either it
is read, or it is refused by an error of ours in one line. Anything else is a fault: another error,
a process that ends, 10 s of CPU, 1 GiB of memory, a program, a pickle or a connection that is
started, a file outside of the case's folder. Faults are in ``faults.jsonl`` of the output folder,
the smallest content of each kind in ``faults/``. A run that is stopped goes on when repeated.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.engine import COUNTS, case, note, seeds_of, work

TOGETHER = 20_000
"""Cases of a process, at most."""


def main() -> int:
    """Run cases of all targets, or of those that are named; return 1 after a fault."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--cases", type=int, default=20_000, help="of all targets together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs/fuzz"))
    parser.add_argument(
        "--show", type=int, help="write the case of this number to standard output"
    )
    parser.add_argument("--work", nargs=2, type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    out = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    from tests.fuzz.targets import TARGETS

    names = given.targets or list(TARGETS)
    if given.work:  # as nice as its parent
        work(names[0], given.seed, *given.work, out)
        return 0
    os.nice(10)
    if given.show is not None:
        found = case(TARGETS[names[0]], names[0], given.seed, given.show, seeds_of(names[0], out))
        sys.stdout.buffer.write(found)
        return 0
    whole = sum(TARGETS[name].share for name in names)
    for name in names:
        run(name, given.seed, round(given.cases * TARGETS[name].share / whole), out)
    return report(out)


def run(name: str, seed: int, cases: int, out: Path) -> None:
    """Run the cases of a target that are not done yet, in processes of their own."""
    place = out / f"{name}.counts"
    if not place.exists():
        place.write_bytes(COUNTS.pack(0, 0, 0, 0))
    began = time.monotonic()
    while (done := COUNTS.unpack(place.read_bytes())[0]) < cases:
        last = min(cases, done + TOGETHER)
        command = [
            sys.executable,
            "-m",
            "tests.fuzz",
            name,
            "--seed",
            str(seed),
            "--out",
            str(out),
        ]
        child = subprocess.run(
            [*command, "--work", str(done), str(last)], capture_output=True, text=True, check=False
        )
        at, read, refused, faulty = COUNTS.unpack(place.read_bytes())
        if child.returncode:
            code = child.returncode
            how = signal.Signals(-code).name if code < 0 else f"exit {code}: {child.stderr[-300:]}"
            if code > 0 and at == done:
                raise SystemExit(f"{name}: {child.stderr[-2000:]}")
            from tests.fuzz.targets import TARGETS

            content = case(TARGETS[name], name, seed, at, seeds_of(name, out))
            note(out, name, seed, at, f"process: ended by {how}", content)
            place.write_bytes(COUNTS.pack(at + 1, read, refused, faulty + 1))
        rate = (COUNTS.unpack(place.read_bytes())[0] - done) / (time.monotonic() - began)
        began = time.monotonic()
        print(f"{name}: {COUNTS.unpack(place.read_bytes())} of {cases}, {rate:.0f}/s", flush=True)


def report(out: Path) -> int:
    """Print how many cases ran of each kind, and the faults by place."""
    print("| target | cases | read | refused | faults |\n| --- | ---: | ---: | ---: | ---: |")
    for place in sorted(out.glob("*.counts")):
        done, read, refused, faulty = COUNTS.unpack(place.read_bytes())
        print(f"| {place.stem} | {done:,} | {read:,} | {refused:,} | {faulty:,} |")
    path = out / "faults.jsonl"
    lines = [json.loads(line) for line in path.open()] if path.exists() else []
    kinds = Counter((line["target"], line["fault"][:200]) for line in lines)
    for (target, fault), count in kinds.most_common(60):
        print(f"{count:6} {target}: {fault}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
