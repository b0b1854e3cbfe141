# make reproduce   redraw every figure of the paper and check its claims, into reproduction/;
#                  ARGS="--runs 100" is passed on
# make serve       serve decisions over HTTP from ocucb.db; ARGS="--port 9000" is passed on
# make docs        build the documentation site, offline, and print its address
# make pictures    draw the pictures of README and docs again; ARGS="fig2 sweeps" for some
# make methods     draw the figures of docs/methods.md
# make lint        style and types
# make quick       the tests that answer within a minute: to run while working
# make test        all tests; ARGS="--no-skips" fails where one would be skipped
# make coverage    all tests, and which lines and branches they reach, into htmlcov/
# make test-lowest the tests with the lowest versions that pyproject.toml declares
# make bench       measure speed against the yardstick, write bench/table.md
# make release-check  everything that a release needs but the upload
#
# With another Python: make quick PYTHON=python3.12 VENV=.venv-3.12

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
READY := $(VENV)/.ready
LOWEST := .venv-lowest/bin
QUICK := $(addprefix tests/test_,architecture.py layers.py policies.py problems.py results.py threads.py \
  cli.py::test_wrong_input_is_one_sentence_and_status_2 live_state.py::test_goes_on_bit_for_bit_after_a_load \
  simulation.py::test_horizons_up_to_the_number_of_arms simulation.py::test_wrong_input \
  numbers.py::test_numbers_are_those_of_this_numerical_version \
  sweeps.py::test_runs_are_shared_among_horizons_only_if_formulas_do_not_mention_them)
BOUNDS := .venv-lowest/constraints.txt
SITE := docs/_build/html

.PHONY: reproduce serve docs pictures methods lint quick test coverage test-lowest bench release-check clean

reproduce: $(READY)
	$(BIN)/ocucb reproduce $(ARGS)

serve: $(READY)
	$(BIN)/ocucb serve $(ARGS)

docs: $(READY)
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs $(SITE)
	@echo "Open $(CURDIR)/$(SITE)/index.html"

pictures: $(READY)
	$(BIN)/python docs/scripts/pictures.py $(ARGS)

methods: $(READY)
	$(BIN)/python docs/scripts/methods_figures.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

quick: $(READY)
	$(BIN)/pytest --quick -n auto --dist worksteal $(QUICK)

test: $(READY)
	$(BIN)/pytest -n auto --dist loadfile $(ARGS)

coverage: $(READY)
	$(BIN)/pytest -n auto --dist loadfile --cov --cov-report=term --cov-report=html $(ARGS)

test-lowest: .venv-lowest/.ready
	$(LOWEST)/pytest -n auto --dist loadfile

bench: $(READY)
	-$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python bench/run.py

release-check: $(READY)
	.ci/release-check

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

# Emptied first, so that nothing stays that an earlier bound brought in. Old packages have no wheels for
# the newest Pythons; where python3 is one of these: make test-lowest PYTHON=python3.11
.venv-lowest/.ready: pyproject.toml tests/lowest.py
	$(PYTHON) -m venv --clear .venv-lowest
	$(LOWEST)/python -m pip install --quiet --upgrade pip packaging editables
	$(LOWEST)/python tests/lowest.py pyproject.toml >$(BOUNDS)
	$(LOWEST)/python -m pip install --quiet --constraint $(BOUNDS) hatchling
	$(LOWEST)/python -m pip install --quiet --constraint $(BOUNDS) --no-build-isolation \
	  --editable '.[dask,dev,pandas,serve]'
	touch $@

clean:
	rm -rf .venv .venv-* docs/_build docs/auto_gallery reproduction league .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage* htmlcov
