"""Record again what runs decide and predict: ``python -m tests.golden [NAME ...]``.

All algorithms, or those that are named. Files of names that are gone are deleted.
"""

import sys

from tests.golden.recording import FOLDER, names, runs_of, write


def main() -> None:
    for name in sys.argv[1:] or names():
        write(FOLDER / f"{name}.npz", runs_of(name))
        print(name, flush=True)
    for path in FOLDER.glob("*.npz"):
        if path.stem not in names():
            path.unlink()


if __name__ == "__main__":
    main()
