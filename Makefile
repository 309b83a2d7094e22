# Each target alone sets up the environment and then works; the second call is instant.
#   make bench    run the quick suite and print the board
#   make test     run the tests on all cores (ARGS="-k chacha" is passed on)
#   make lint     ruff and mypy
#   make ui       the MLflow UI on the local store
#   make docs     the documentation, to docs/_build/html
#   make lock     requirements.lock anew, with the digests of all files
#   make screenshots   pictures of the suite quick, to docs/_build/screenshots; README's too

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check

.DEFAULT_GOAL := bench
.PHONY: bench test lint ui docs screenshots install lock clean

bench: $(STAMP)
	$(BIN)/leaseboard run quick $(ARGS)

test: $(STAMP)
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 8 --dist loadfile --no-loadscope-reorder $(ARGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

ui: $(STAMP)
	$(BIN)/leaseboard ui $(ARGS)

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html $(ARGS)

screenshots: bench
	$(BIN)/python docs/screenshots.py runs/quick --readme docs/board.png

install: $(STAMP)

# The lock is whole, so nothing is resolved. hatchling and editables are in it, so the project itself
# is built without the network.
# The stamp comes last: an installation that was cut off is done again.
$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit(f"Leaseboard needs Python 3.11 or newer; $(PYTHON) is {v.major}.{v.minor}. Name another: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --require-hashes --no-deps --requirement requirements.lock
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $(STAMP)

# pip reads dependency groups since 25.1; the constraints keep what is installed as it is. They have
# no digests: with one, pip would ask for those of all that the documentation needs beside them.
$(VENV)/.docs: $(STAMP)
	$(PIP) install --quiet 'pip>=25.1'
	sed -n 's/\[.*\]//; s/ \\$$//; /==/p' requirements.lock > $(VENV)/constraints.txt
	$(PIP) install --quiet --group docs --constraint $(VENV)/constraints.txt
	@touch $@

# Versions are those that stand in requirements.lock, where one changes them first; what pyproject.toml
# asks for beside them is added. The digests are those of the files for all systems and Pythons.
lock: $(STAMP)
	$(PYTHON) -m venv $(VENV)/lock
	$(VENV)/lock/bin/python -m pip install --quiet pip-tools
	sed -n 's/\[.*\]//; s/ \\$$//; /==/p' requirements.lock > $(VENV)/pins.txt
	$(BIN)/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb")); o = p["project"]["optional-dependencies"]; print(*p["project"]["dependencies"], *o["tables"], *(r for r in o["flows"] if not r.startswith("leaseboard")), *p["dependency-groups"]["dev"], *p["build-system"]["requires"], "editables", sep="\n")' > $(VENV)/wanted.txt
	sed -n '/^#/p' requirements.lock > $(VENV)/requirements.lock
	$(VENV)/lock/bin/pip-compile --quiet --generate-hashes --no-strip-extras --allow-unsafe --no-header \
		--no-annotate --no-emit-options --no-emit-index-url --no-emit-find-links \
		--no-emit-trusted-host --output-file $(VENV)/pinned.txt $(VENV)/pins.txt $(VENV)/wanted.txt
	cat $(VENV)/pinned.txt >> $(VENV)/requirements.lock
	mv $(VENV)/requirements.lock requirements.lock

clean:
	rm -rf $(VENV)
