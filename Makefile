# Every target makes the virtual environment it needs by itself, with the pinned versions in requirements/.
#   make demo      simulate a leg swinging, identify a person's arm; write demo.html, demo_person.html and demo_person.osim
#   make test      style, types, tests
#   make test-slow the tests that take longer, and the time of each
#   make lint      style and types only
#   make bench     compare speed with OpenSim, MuJoCo and Pinocchio, write docs/benchmarks.md
#   make studies   repeat the experiments of the papers
#   make evidence  measure every claim, write docs/evidence.md (ARGS=--fast without benchmarks and studies)
#   make docs      build the documentation into site/
#   make lock      pin the newest dependencies that pyproject.toml allows
#   make clean     remove what was built; `make distclean` removes the environment too

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow lint format bench studies evidence docs lock clean distclean

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

# Any Python from 3.11 to 3.13; `make PYTHON=/path/to/python3.12 ...` chooses one.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
  $$python -c 'import sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null \
  && echo $$python && break; done)

help:
	@sed -n 's/^#   //p' Makefile

$(BIN)/pip:
	@test -n "$(PYTHON)" || { echo "Myograd needs Python 3.11, 3.12 or 3.13 with venv; none was found. Try: make PYTHON=/path/to/python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed-%: requirements/%.txt pyproject.toml | $(BIN)/pip
	$(PIP) install --quiet --requirement $<
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(VENV)/installed-run
	$(BIN)/myograd demo --out demo.html
	$(BIN)/myograd identify arm --shipped --every 4 --out demo_person.osim --report demo_person.html --force

# The check that imports point in one direction is tests/test_imports.py.
test: lint
	$(BIN)/pytest -n 2 --dist loadscope  # a file at a time, so that its tests share compiled programs

test-slow: $(VENV)/installed-test
	$(BIN)/pytest -n 2 --dist worksteal -m slow --durations=0

lint: $(VENV)/installed-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/basedpyright

format: $(VENV)/installed-test
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/installed-bench
	$(BIN)/python benchmarks/run.py --out docs/benchmarks.md

studies: $(VENV)/installed-test
	$(BIN)/python -m myograd.studies
	$(BIN)/pytest -m study || test $$? -eq 5  # 5: none of the tests is a study

# Goes on where it was interrupted; `make evidence ARGS="--only wrapping"` measures one topic.
evidence: $(VENV)/installed-test $(VENV)/installed-bench $(VENV)/installed-docs
	$(BIN)/python scripts/evidence.py $(ARGS)

docs: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

lock: | $(BIN)/pip
	$(PIP) install --quiet uv==0.13.7
	PATH="$(CURDIR)/$(BIN):$$PATH" scripts/lock.sh

clean:
	rm -rf site dist demo.html demo_person.html demo_person.osim .pytest_cache .ruff_cache .hypothesis
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV)
