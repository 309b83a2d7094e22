# Each target alone sets up the environment and then works; the second call is instant.
#   make bench    run the quick suite and print the leaderboard
#   make test     run the tests on all cores (ARGS="-k online-automl" is passed on)
#   make machines  the state machines at size: ORDERS=200x30@0 is 200 orders of 30 steps, seed 0
#   make mutants  mutants of the modules that guarantees rest on: which of them the tests notice
#   make golden   record again what the algorithms decide and predict: see CONTRIBUTING.md
#   make install  set up the environment, and compile the kernels again that have changed
#   make lint     ruff, the words of the documentation, the contracts of imports, and mypy
#   make ui       the MLflow UI on the local store
#   make docs     the documentation, to docs/_build/html
#   make tables   the tables and the chart of the documentation, from docs/results
#   make lock     resolve requirements.lock again, with the checksums of all files
#   make screenshots   pictures of the suite quick, to docs/_build/screenshots; README's too

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PACKAGES := $(VENV)/.packages
KERNELS := $(shell find algorithms -name "*.pyx" -o -name "*.pxd")
PIP := $(BIN)/python -m pip --disable-pip-version-check

.DEFAULT_GOAL := bench
.PHONY: bench test mutants machines golden lint ui docs tables screenshots install lock sbom audit clean

bench: $(STAMP)
	$(BIN)/leaseboard run quick $(ARGS)

test: $(STAMP)
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 8 --dist loadfile --no-loadscope-reorder $(ARGS)

ORDERS ?= 200x30@0
machines: $(STAMP)
	LEASEBOARD_MACHINE=$(ORDERS) $(BIN)/python -m pytest --quiet \
		tests/tasks/live/test_any_order.py tests/flows/test_any_order.py $(ARGS)

golden: $(STAMP)
	$(BIN)/python -m tests.golden $(ARGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tests/docs/test_words.py
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/mypy

ui: $(STAMP)
	$(BIN)/leaseboard ui $(ARGS)

docs: $(VENV)/.docs
	rm -rf docs/reference/generated
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html $(ARGS)

tables: $(STAMP)
	$(BIN)/python docs/tables.py $(ARGS)

screenshots: bench
	$(BIN)/python docs/screenshots.py runs/quick --readme docs/report.png

install: $(STAMP)

# The lock is whole, so nothing is resolved. hatchling and editables are in it, so the project itself
# is built without the network.
# The stamp comes last: an installation that was cut off is done again.
$(PACKAGES): requirements.lock
	@$(PYTHON) -c 'import sys; v = sys.version_info; (3, 11) <= v < (3, 14) or sys.exit(f"Leaseboard needs Python 3.11, 3.12 or 3.13; $(PYTHON) is {v.major}.{v.minor}. Name another: make PYTHON=python3.11")'
	@command -v $${CC:-cc} >/dev/null && $(PYTHON) -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null || { echo "Leaseboard needs a C compiler and Python.h to compile its kernels: apt-get install build-essential python3-dev"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@echo "installing some 200 packages, which takes some minutes"
	$(PIP) install --quiet --require-hashes --no-deps --requirement requirements.lock
	@touch $@

# hatch_build.py compiles the kernels.
$(STAMP): $(PACKAGES) pyproject.toml hatch_build.py $(KERNELS)
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# pip reads dependency groups since 25.1; the constraints keep installed packages unchanged. They have no
# checksums: with one, pip would require those of all further packages of the documentation.
$(VENV)/.docs: $(STAMP)
	$(PIP) install --quiet 'pip>=25.1'
	sed -n 's/\[.*\]//; s/ \\$$//; /==/p' requirements.lock > $(VENV)/constraints.txt
	$(PIP) install --quiet --group docs --constraint $(VENV)/constraints.txt
	@touch $@

# Versions are those of requirements.lock, in which you change them first; further requirements of
# pyproject.toml are added. The checksums are those of the files for all systems and Pythons.
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

# Mutants of the modules that guarantees rest on: which of them the tests notice. cosmic-ray makes them;
# of its requirements there is what that needs alone, so that none hides one of requirements.lock.
mutants: $(STAMP) $(VENV)/mutants
	PYTHONPATH=$(CURDIR)/$(VENV)/mutants $(BIN)/python tests/mutants.py $(ARGS)

$(VENV)/mutants: | $(STAMP)
	$(PIP) install --quiet --no-deps --target $@ cosmic-ray==8.7.0 parso==0.8.7 stevedore==5.10.0

# A bill of materials, as CycloneDX: what `make` installs, with the digests of all files.
sbom:
	$(PYTHON) .ci/sbom.py > sbom.cdx.json

# Known faults of these packages. It asks an index about each of them, so neither tests nor `.ci/run` do.
audit: $(STAMP)
	$(PYTHON) -m venv $(VENV)/audit
	$(VENV)/audit/bin/python -m pip install --quiet pip-audit
	$(VENV)/audit/bin/pip-audit --requirement requirements.lock --require-hashes --no-deps --disable-pip

clean:
	rm -rf $(VENV)
