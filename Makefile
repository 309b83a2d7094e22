# Each target alone sets up the environment and then works; the second call is instant.
#   make bench    run the quick suite and print the board
#   make test     run the tests           (ARGS="-k chacha" is passed on)
#   make lint     ruff and mypy
#   make ui       the MLflow UI on the local store
#   make docs     the documentation, to docs/_build/html
#   make screenshots   pictures of the suite quick, to docs/_build/screenshots; README's too

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check

.DEFAULT_GOAL := bench
.PHONY: bench test lint ui docs screenshots install clean

bench: $(STAMP)
	$(BIN)/leaseboard run quick $(ARGS)

test: $(STAMP)
	$(BIN)/python -m pytest $(ARGS)

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

# hatchling and editables are in the lock, so the project itself is built without the network.
# The stamp comes last: an installation that was cut off is done again.
$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit(f"Leaseboard needs Python 3.11 or newer; $(PYTHON) is {v.major}.{v.minor}. Name another: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --requirement requirements.lock
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $(STAMP)

# pip reads dependency groups since 25.1; the constraints keep what is installed as it is.
$(VENV)/.docs: $(STAMP)
	$(PIP) install --quiet 'pip>=25.1'
	$(PIP) install --quiet --group docs --constraint requirements.lock
	@touch $@

clean:
	rm -rf $(VENV)
