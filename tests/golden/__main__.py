"""Record again what runs decide and predict: ``python -m tests.golden [NAME ...]``.

All algorithms and estimators, or those that are named. Files of names that are gone are deleted.
"""

import json
import sys

from tests.golden.estimators import ESTIMATORS
from tests.golden.recording import FOLDER, LIBRARIES, MACHINE, machine, names, runs_of, write


def main() -> None:
    wanted = sys.argv[1:] or [*names(), *ESTIMATORS]
    for name in wanted:
        if name in ESTIMATORS:
            write(LIBRARIES / f"{name}.npz", ESTIMATORS[name]())
            MACHINE.write_text(json.dumps(machine(), indent=1) + "\n", encoding="utf-8")
        else:
            write(FOLDER / f"{name}.npz", runs_of(name))
        print(name, flush=True)
    for folder, known in ((FOLDER, names()), (LIBRARIES, ESTIMATORS)):
        for path in folder.glob("*.npz"):
            if path.stem not in known:
                path.unlink()


if __name__ == "__main__":
    main()
