"""The layers of pyproject.toml, as import-linter checks them."""

import contextlib
import io
from pathlib import Path

from importlinter.cli import lint_imports

ROOT = Path(__file__).resolve().parents[1]


def check(folder):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = lint_imports(config_filenames=(str(folder / "pyproject.toml"),), no_cache=True)
    return code, said.getvalue()


def test_contracts_hold():
    code, said = check(ROOT)

    assert code == 0, said
